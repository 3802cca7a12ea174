"""The engine of trials: Essie expressions, or API parameters as a JSON object, over one index."""

import json
from collections.abc import Sequence
from datetime import date

from pyroaring import BitMap

from actors.search.mesh import Mesh
from actors.search.trials.documents import ORDER
from actors.search.trials.essie import EssieError
from actors.search.trials.essie_parser import parse
from actors.search.trials.evaluation import Evaluator, Found
from actors.search.trials.index import TrialsIndex
from actors.search.trials.lexical import normal
from actors.search.trials.request import STUDIES, ApiError, known, studies_request
from actors.search.trials.search import matching, order
from actors.search.types import QueryError, SearchOutcome, SearchRequest, SearchResult

MAX_QUERY_CHARACTERS = 200_000
AREA = "BasicSearch"
_SORTS = {"recent": ((ORDER, True),), "relevance": (), "updated": (("LastUpdatePostDate", True),)}


class TrialsEngine:
    """Runs trial queries over one index; safe for threads.

    A query is an Essie expression that searches `area` (`query.term`'s), or a JSON object of API
    parameters such as `{"query.cond": "...", "filter.overallStatus": "RECRUITING"}`, also written
    `{"cond": "..."}`. `order` is `relevance`, `recent` (first posted last first) or `updated`.
    """

    def __init__(self, index: TrialsIndex, mesh: Mesh | None = None, area: str = AREA) -> None:
        self.index = index
        self.area = area
        self.evaluator = Evaluator(index, mesh)
        self.evaluator.area(area)

    def search(self, request: SearchRequest) -> SearchOutcome:
        """Run one query. ValueError means that the request, not the query, is wrong."""
        self._check(request)
        query = request.query
        if len(query) > MAX_QUERY_CHARACTERS:
            return QueryError(
                f"the query has {len(query)} characters, at most {MAX_QUERY_CHARACTERS} are read",
                query,
                MAX_QUERY_CHARACTERS,
            )
        if not query.strip():
            return QueryError("the query is blank", query, 0)
        if request.history:
            return QueryError("ClinicalTrials.gov has no search history", query)
        try:
            bits, queried, sort = self._matching(query)
        except EssieError as error:
            return QueryError(error.message, query, error.position)
        except ApiError as error:
            return QueryError(error.message, query, error.position)
        if request.date_to is not None:
            bits = bits & self.index.studies.dated(ORDER, date.min, request.date_to)
        if request.order == "recent" and not sort:
            found = list(bits[: request.k])  # ordinals are in this order
            return SearchResult(tuple(self.index.ids[found].tolist()), len(bits))
        ranked = order(self.evaluator, bits, queried, sort or _SORTS[request.order], request.k)
        return SearchResult(
            ids=tuple(self.index.ids[ranked.ordinals].tolist()),
            total=len(bits),
            scores=tuple(ranked.scores.tolist()) if request.order == "relevance" else (),
        )

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in their order."""
        return [self.search(request) for request in requests]

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, brief summary) of each id. KeyError names an id that the index lacks."""
        return self.index.fetch(ids)

    def document_frequency(self, word: str) -> int:
        """Number of studies with `word` (or that phrase) or its variants in the engine's area."""
        words = tuple(normal(word))
        area = self.evaluator.area(self.area)
        return len(self.evaluator.matchers["Study"].phrase(area, words)) if words else 0

    def _matching(self, query: str) -> tuple[BitMap, list[Found], tuple[tuple[str, bool], ...]]:
        if not query.lstrip().startswith("{"):
            found = self.evaluator.run(parse(query), self.area)
            return found.bits, [found], ()
        try:
            given = json.loads(query)
        except ValueError as error:
            place = getattr(error, "pos", None)
            raise EssieError(f"the query begins as JSON but is none: {error}", place) from error
        except RecursionError as error:
            raise EssieError("the query is JSON nested too deeply", 0) from error
        parameters = {}
        for name, value in given.items():
            if not isinstance(value, str | int | bool):
                raise EssieError(f"the value of {name!r} in the query is not text")
            full = name if name in STUDIES or "." in name else f"query.{name}"
            parameters[full] = str(value).lower() if isinstance(value, bool) else str(value)
        known(parameters, STUDIES)
        if not any(text.strip() for text in parameters.values()):
            raise EssieError("the query is blank", 0)
        request = studies_request(parameters)
        bits, queried = matching(self.evaluator, request)
        return bits, queried, request.sort

    def _check(self, request: SearchRequest) -> None:
        if request.syntax != "essie":
            raise ValueError(f"syntax {request.syntax!r} is not 'essie', which trials are read in")
        if request.order not in _SORTS:
            raise ValueError(f"order {request.order!r} is not one of {', '.join(_SORTS)}")
        if request.k < 0:
            raise ValueError(f"k is {request.k}, below 0")
