"""ClinicalTrials.gov API v2: studies, one study, version. Errors are plain text with HTTP 400."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from actors.search.live.bodies import excerpt, read_json
from actors.search.live.cache import AnswerCache
from actors.search.live.errors import QueryRefusedError, ServiceError, TransientError
from actors.search.live.pacing import Pacer, shared_pacer
from actors.search.live.retry import RetryPolicy
from actors.search.live.service import Service

TRIALS_URL = "https://clinicaltrials.gov/api/v2"
STARTS_PER_S = 3
MAX_PAGE = 1000  # larger page sizes are clamped by the service
QUERY_AREAS = frozenset("cond term locn titles intr outc spons lead id patient".split())
FILTERS = frozenset("overallStatus geo ids advanced synonyms".split())
_OF_THE_CALLER = ("unknown parameter", "pagetoken", "pagesize", "counttotal", "invalid field name")


@dataclass(frozen=True, slots=True)
class StudiesPage:
    """One page: `studies` as the service gives them; `total` only if it was asked for."""

    studies: tuple[Mapping[str, Any], ...]
    total: int | None
    next_token: str


class TrialsClient:
    """Calls to API v2 at `base_url`; safe for threads.

    Clients of one process share one pacer unless `pacer` is given; `occupied` starts that pacer as
    if its window had just been used up. Raises QueryRefusedError, ServiceError or ValueError.
    """

    def __init__(
        self,
        base_url: str = TRIALS_URL,
        *,
        cache: AnswerCache | None = None,
        policy: RetryPolicy | None = None,
        pacer: Pacer | None = None,
        occupied: bool = False,
        timeout_s: float = 30.0,
        concurrency: int = 8,
    ) -> None:
        self.service = Service(
            "ClinicalTrials.gov",
            base_url,
            pacer=pacer or shared_pacer(base_url, STARTS_PER_S, occupied=occupied),
            policy=policy,
            cache=cache,
            timeout_s=timeout_s,
            concurrency=concurrency,
        )

    def close(self) -> None:
        """Close connections and cache."""
        self.service.close()

    def studies(
        self,
        query: Mapping[str, str] | None = None,
        filters: Mapping[str, str] | None = None,
        *,
        agg_filters: str = "",
        fields: Sequence[str] = (),
        sort: Sequence[str] = (),
        count_total: bool = False,
        page_size: int = 10,
        page_token: str = "",
    ) -> StudiesPage:
        """One page of /studies. `query` is by area (`cond`, `term`, ...), `filters` by name."""
        _known("query", query or {}, QUERY_AREAS)
        _known("filter", filters or {}, FILTERS)
        if not 0 <= page_size <= MAX_PAGE:
            raise ValueError(f"page_size {page_size} is not from 0 to {MAX_PAGE}")
        parameters = [(f"query.{area}", text) for area, text in (query or {}).items()]
        parameters += [(f"filter.{name}", text) for name, text in (filters or {}).items()]
        parameters += [
            ("aggFilters", agg_filters),
            ("fields", "|".join(fields)),
            ("sort", "|".join(sort)),
            ("countTotal", "true" if count_total else ""),
            ("pageSize", str(page_size)),
            ("pageToken", page_token),
        ]
        for name, text in parameters:
            _check_encodable(name, text)
        given = [pair for pair in parameters if pair[1] != ""]
        return self.service.call("GET", "studies", given, parse_page)

    def pages(
        self,
        limit: int,
        query: Mapping[str, str] | None = None,
        filters: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Iterator[StudiesPage]:
        """Pages until `limit` studies are seen or there are no more; the first has the total.

        ServiceError when fewer arrive than the total announces.
        """
        seen, token, tokens = 0, "", set[str]()
        wanted: int | None = None
        while wanted is None or seen < wanted:
            page = self.studies(
                query,
                filters,
                count_total=not tokens,
                page_size=max(1, min(MAX_PAGE, limit)),
                page_token=token,
                **options,
            )
            if wanted is None:
                if page.total is None:
                    raise ServiceError(f"{self.service.name}: countTotal=true brought no total")
                wanted = min(limit, page.total)
            seen += len(page.studies)
            token = page.next_token
            if seen < wanted and (not token or token in tokens):
                raise ServiceError(
                    f"{self.service.name} ({self.service.base_url}/studies): only {seen} of "
                    f"{wanted} announced studies were delivered"
                )
            tokens.add(token)
            yield page

    def study(self, nct_id: str, fields: Sequence[str] = ()) -> Mapping[str, Any]:
        """One study. KeyError if the registry has no such id."""
        parameters = [("fields", "|".join(fields))] if fields else []
        found = self.service.call(
            "GET", f"studies/{quote(nct_id, safe='')}", parameters, parse_study
        )
        if found is None:
            raise KeyError(nct_id)
        return found

    def version(self) -> Mapping[str, Any]:
        """`apiVersion` and `dataTimestamp`; never from the cache."""
        return self.service.call("GET", "version", [], parse_object, keep=False)


def nct_id(study: Mapping[str, Any]) -> str:
    """The id of a study."""
    return str(_module(study, "identificationModule").get("nctId", ""))


def title_and_summary(study: Mapping[str, Any]) -> tuple[str, str]:
    """(brief title, or the official one; brief summary) of a study, spaces made single."""
    names = _module(study, "identificationModule")
    title = names.get("briefTitle") or names.get("officialTitle") or ""
    summary = _module(study, "descriptionModule").get("briefSummary") or ""
    return " ".join(title.split()), " ".join(summary.split())


def parse_page(status: int, body: bytes) -> StudiesPage:
    """A page of /studies."""
    answer = parse_object(status, body)
    studies, total = answer.get("studies"), answer.get("totalCount")
    if not isinstance(studies, list) or any(not isinstance(one, dict) for one in studies):
        raise TransientError(f"a malformed body: {excerpt(body)}")
    if total is not None and not isinstance(total, int):
        raise TransientError(f"a malformed body: {excerpt(body)}")
    return StudiesPage(tuple(studies), total, str(answer.get("nextPageToken") or ""))


def parse_study(status: int, body: bytes) -> Mapping[str, Any] | None:
    """A study; None if there is no such id (HTTP 404)."""
    if status == 404:
        return None
    answer = parse_object(status, body)
    if "protocolSection" not in answer:
        raise TransientError(f"a malformed body: {excerpt(body)}")
    return answer


def parse_object(status: int, body: bytes) -> dict[str, Any]:
    """A JSON object, or the error that stands for a plain-text answer."""
    if status == 414:
        raise QueryRefusedError("the query is too long for the service (HTTP 414)")
    if status != 200:
        text = excerpt(body) or "an empty body"
        if status == 400 and not any(known in text.lower() for known in _OF_THE_CALLER):
            raise QueryRefusedError(text)
        raise ServiceError(f"HTTP {status}: {text}")
    answer = read_json(body)
    if not isinstance(answer, dict):
        raise TransientError(f"a malformed body: {excerpt(body)}")
    return answer


def _module(study: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return (study.get("protocolSection") or {}).get(name) or {}


def _known(kind: str, given: Mapping[str, str], known: frozenset[str]) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise ValueError(f"{kind}.{unknown[0]} is not one of {', '.join(sorted(known))}")


def _check_encodable(name: str, text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise QueryRefusedError(
            f"character {error.start} of {name} is half of a surrogate pair: remove it", error.start
        ) from None
