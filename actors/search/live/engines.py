"""The live services as search engines: the same requests and outcomes as the local ones."""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any, TypeVar

from actors.search.live.chunks import chunks
from actors.search.live.errors import QueryRefusedError, ServiceError
from actors.search.live.eutils import MAX_IDS, EutilsClient
from actors.search.live.history import expand_history
from actors.search.live.trial_query import read_trial_query
from actors.search.live.trials_v2 import MAX_PAGE, TrialsClient, nct_id, title_and_summary
from actors.search.types import (
    InfraFailure,
    QueryError,
    SearchOutcome,
    SearchRequest,
    SearchResult,
)

A = TypeVar("A")
B = TypeVar("B")

FIRST_DAY = date(1800, 1, 1)
BLANK = "Empty term and query_key - nothing todo"
ID_CHUNK = 100  # ids in one filter.ids: the query string stays short
DATE_AREA = "StudyFirstPostDate"  # of trials: what `date_to` bounds and "recent" sorts by
_TRIAL_SORTS = {
    "relevance": ("@relevance",),
    "recent": (f"{DATE_AREA}:desc",),
    "updated": ("LastUpdatePostDate:desc",),
}
_RELATIVE = re.compile(r'"?last \d+ (day|month|year)s?"?\s*\[', re.IGNORECASE)


class LivePubMedEngine:
    """PubMed over E-utilities; options are those of `EutilsClient`."""

    def __init__(self, base_url: str | None = None, **options: Any) -> None:
        self.client = EutilsClient(**_with_url(base_url, options))

    def check(self, request: SearchRequest) -> None:
        """ValueError for a request that the service cannot serve, such as `k` above 10,000."""
        _check(request, ("pubmed",))
        if request.k > MAX_IDS:
            raise ValueError(
                f"k is {request.k}: PubMed serves only the first {MAX_IDS:,} records of a query; "
                f"ask for fewer or split the query by date"
            )
        if request.today not in (None, date.today()) and _RELATIVE.search(request.query):
            raise ValueError(f"today {request.today}: the live service counts from its own day")

    def search(self, request: SearchRequest) -> SearchOutcome:
        """Run one query. ValueError as in `check`.

        `date_to` is the publication date; the answer never counts an outage as zero hits.
        """
        self.check(request)
        dates = None
        if request.date_to is not None:
            dates = (min(FIRST_DAY, request.date_to), request.date_to)
        sort = "relevance" if request.order == "relevance" else ""
        try:
            query = expand_history(request.query, request.history)
            if not query.strip():
                raise QueryRefusedError(BLANK, 0)
            answer = self.client.esearch_first(query, request.k, sort=sort, dates=dates)
        except QueryRefusedError as error:
            return QueryError(error.message, request.query, error.position)
        except ServiceError as error:
            return InfraFailure(str(error))
        return SearchResult(
            answer.ids, answer.count, answer.warnings, answer.translation, answer.mapped
        )

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in order; several in flight, equal ones asked once."""
        for request in requests:
            self.check(request)
        return _map_distinct(self.search, requests, self.client.service.concurrency)

    def document_frequency(self, word: str) -> int:
        """Number of records with `word` (or that phrase) in any field. Raises ServiceError."""
        quoted = '"' + word.replace('"', " ") + '"[all]'
        return self.client.esearch(quoted, retmax=0).count if word.strip() else 0

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(title, abstract) of each id. KeyError names an id that PubMed lacks."""
        found = self.client.articles(ids)
        return [found[id] for id in ids]

    def close(self) -> None:
        """Close connections and cache."""
        self.client.close()


class LiveTrialsEngine:
    """ClinicalTrials.gov over API v2; options are those of `TrialsClient`.

    A query is an Essie expression for the query parameter `area`, or a JSON object of parameters.
    `filters` go with every query that does not name them itself.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        area: str = "term",
        filters: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.client = TrialsClient(**_with_url(base_url, options))
        self.area = area
        self.filters = dict(filters or {})

    def check(self, request: SearchRequest) -> None:
        """ValueError for a request that the service cannot serve."""
        _check(request, ("essie",), tuple(_TRIAL_SORTS))

    def search(self, request: SearchRequest) -> SearchOutcome:
        """Run one Essie query. ValueError as in `check`."""
        self.check(request)
        if request.history:
            return QueryError("ClinicalTrials.gov has no search history", request.query)
        ids: list[str] = []
        total = 0
        try:
            asked = read_trial_query(request.query, self.area)
            filters = {**self.filters, **asked.filters}
            if request.date_to is not None:
                bound = f"AREA[{DATE_AREA}]RANGE[MIN,{request.date_to.isoformat()}]"
                own = filters.get("advanced")
                filters["advanced"] = f"({own}) AND {bound}" if own else bound
            pages = self.client.pages(
                request.k,
                asked.query,
                filters,
                agg_filters=asked.agg_filters,
                fields=("NCTId",),
                sort=asked.sort or _TRIAL_SORTS[request.order],
            )
            for page in pages:
                total = page.total if page.total is not None else total
                ids += map(nct_id, page.studies)
        except QueryRefusedError as error:
            return QueryError(error.message, request.query, error.position)
        except ServiceError as error:
            return InfraFailure(str(error))
        return SearchResult(tuple(ids[: request.k]), total)

    def search_many(self, requests: Sequence[SearchRequest]) -> list[SearchOutcome]:
        """The outcomes of `requests`, in order; several in flight, equal ones asked once."""
        for request in requests:
            self.check(request)
        return _map_distinct(self.search, requests, self.client.service.concurrency)

    def document_frequency(self, word: str) -> int:
        """Number of studies with `word` (or that phrase) in any field. Raises ServiceError."""
        if not word.strip():
            return 0
        quoted = '"' + word.replace("\\", " ").replace('"', " ") + '"'
        page = self.client.studies(
            {"term": f"EXPANSION[None]{quoted}"}, count_total=True, page_size=1, fields=("NCTId",)
        )
        if page.total is None:
            raise ServiceError("ClinicalTrials.gov: countTotal=true brought no total")
        return page.total

    def fetch(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """(brief title, brief summary) of each id. KeyError names an id that is not registered."""
        found: dict[str, tuple[str, str]] = {}
        for chunk in chunks(list(dict.fromkeys(ids)), min(ID_CHUNK, MAX_PAGE)):
            pages = self.client.pages(
                len(chunk),
                filters={"ids": ",".join(chunk)},
                fields=("NCTId", "BriefTitle", "OfficialTitle", "BriefSummary"),
            )
            for page in pages:
                found.update((nct_id(one), title_and_summary(one)) for one in page.studies)
        return [found[id] for id in ids]

    def close(self) -> None:
        """Close connections and cache."""
        self.client.close()


def _with_url(base_url: str | None, options: dict[str, Any]) -> dict[str, Any]:
    return options if base_url is None else {"base_url": base_url, **options}


def _check(
    request: SearchRequest,
    syntaxes: Sequence[str],
    orders: Sequence[str] = ("recent", "relevance"),
) -> None:
    if request.order not in orders:
        raise ValueError(f"order {request.order!r} is not one of {', '.join(orders)}")
    if request.k < 0:
        raise ValueError(f"k is {request.k}, below 0")
    if request.fields is not None:
        raise ValueError(f"fields {list(request.fields)}: a live service searches all of its own")
    if request.syntax not in syntaxes:
        raise ValueError(f"syntax {request.syntax!r}: this live service reads {syntaxes[0]!r}")


def _map_distinct(run: Callable[[A], B], items: Sequence[A], threads: int) -> list[B]:
    """`run` of each item, in order, equal items run once."""
    distinct = list(dict.fromkeys(items))
    if len(distinct) < 2:
        outcomes = dict(zip(distinct, map(run, distinct), strict=True))
    else:
        with ThreadPoolExecutor(min(threads, len(distinct))) as pool:
            outcomes = dict(zip(distinct, pool.map(run, distinct), strict=True))
    return [outcomes[item] for item in items]
