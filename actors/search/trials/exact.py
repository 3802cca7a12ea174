"""Checks against the records themselves what canonical words cannot tell: case, accents, values."""

import re
from collections.abc import Callable
from typing import Any

from pyroaring import BitMap

from actors.search.index.postings import numbers_of
from actors.search.trials.areas import Area
from actors.search.trials.documents import indexed_texts
from actors.search.trials.fields import FIELDS, values
from actors.search.trials.index import TrialsIndex
from actors.search.trials.study import locations_of

_ANCHORS = {
    "FullMatch": (r"\A", r"\Z"),
    "StartsWith": (r"\A", r"(?!\w)"),
    "EndsWith": (r"(?<!\w)", r"\Z"),
    "Contains": (r"(?<!\w)", r"(?!\w)"),
}


class Exact:
    """Reads records to decide; slow, so ask only about what an index has found already."""

    def __init__(self, index: TrialsIndex) -> None:
        self.index = index

    def record(self, ordinal: int, document: str) -> Any:
        """The study, or a study of that one site."""
        if document == "Study":
            return self.index.study(ordinal)
        assert self.index.locations is not None
        name = self.index.locations.ids[ordinal]
        place = locations_of(self.index.study(int(self.index.parents[ordinal])))[int(name[12:])]
        return {"protocolSection": {"contactsLocationsModule": {"locations": [place]}}}

    def matching(self, bits: BitMap, document: str, test: Callable[[Any], bool]) -> BitMap:
        """Those of `bits` whose record passes `test`."""
        return BitMap([o for o in numbers_of(bits).tolist() if test(self.record(o, document))])

    def kept(self, area: Area, text: str, coverage: str, bits: BitMap, document: str) -> BitMap:
        """Those of `bits` that hold `text` as written, but for runs of blanks."""
        before, after = _ANCHORS[coverage]
        inner = re.escape(" ".join(text.split()))
        pattern = re.compile(before + inner + after)
        fields = [FIELDS[piece] for piece, _, _ in area.weights]

        def test(record: Any) -> bool:
            return any(
                pattern.search(" ".join(shown.split()))
                for field in fields
                for value in values(record, field.path)
                for shown in indexed_texts(field, value)
            )

        return self.matching(bits, document, test)
