"""An opened index of studies, with the index of their sites beside it."""

from collections.abc import Sequence

import numpy as np
import orjson
from pyroaring import BitMap

from actors.search.index.postings import bitmap, numbers_of
from actors.search.index.reader import RecordIndex
from actors.search.index.shard import ShardIndex
from actors.search.trials.documents import DAYS, NUMBERS
from actors.search.trials.study import Study, nct_id, summary_of, title_of


class TrialsIndex:
    """Studies and their sites, opened. Study ordinal 0 is the study first posted last."""

    def __init__(self, studies: RecordIndex, locations: ShardIndex | None) -> None:
        self.studies = studies
        self.locations = locations
        self.corpus = studies.manifest.corpus
        self.content_hash = studies.manifest.content_hash
        self.size = studies.size
        self.ids = studies.ids[np.arange(studies.size)]
        self._ordinals = {id_: ordinal for ordinal, id_ in enumerate(self.ids)}
        self.all_studies = BitMap(range(self.size))
        sites = locations.size if locations else 0
        self.all_locations = BitMap(range(sites))
        names = locations.ids[np.arange(sites)] if locations else ()
        self.parents = np.array([self._ordinals[name[:11]] for name in names], dtype=np.uint32)
        if locations:
            pair = (locations.scalar("latitude"), locations.scalar("longitude"))
            self.points = np.stack(pair, axis=1)  # (sites, 2) degrees, NaN where not known
        else:
            self.points = np.empty((0, 2))

    def ordinal(self, name: str) -> int | None:
        """The ordinal of a study by its registry number, however written."""
        return self._ordinals.get(nct_id(name) or name)

    def study(self, ordinal: int) -> Study:
        """The record as it was given."""
        study: Study = orjson.loads(self.studies.stored(self.ids[ordinal]))
        return study

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, brief summary) of each id. KeyError names an id that the index lacks."""
        found = []
        for id_ in ids:
            ordinal = self.ordinal(id_)
            if ordinal is None:
                raise KeyError(f"no study {id_!r} in the index of {self.corpus!r}")
            study = self.study(ordinal)
            found.append((title_of(study), summary_of(study)))
        return found

    def order_values(self, piece: str) -> np.ndarray | None:
        """(studies,) float64 of a date (day number) or number, NaN for none; None if neither."""
        if piece in DAYS:
            days = self.studies.scalar(piece).astype(np.float64)
            days[days == 0] = np.nan
            return days
        return np.asarray(self.studies.scalar(piece)) if piece in NUMBERS else None

    def parents_of(self, sites: BitMap) -> BitMap:
        """The studies of these sites."""
        return bitmap(np.unique(self.parents[numbers_of(sites)]))

    def sites_of(self, studies: BitMap) -> BitMap:
        """The sites of these studies."""
        chosen = np.zeros(self.size, dtype=bool)
        chosen[numbers_of(studies)] = True
        return bitmap(np.flatnonzero(chosen[self.parents]).astype(np.uint32))
