"""NCBI E-utilities: esearch, epost, efetch, esummary, einfo (NBK25499), every call by POST.

The API key comes from the environment (`NCBI_API_KEY`) and travels in the body only; without it
NCBI allows 3 requests a second, with it 10.
"""

import ipaddress
from collections.abc import Iterator, Sequence
from datetime import date

import httpx

from actors.search.live.bodies import is_markup, read_xml
from actors.search.live.cache import AnswerCache
from actors.search.live.chunks import chunks
from actors.search.live.errors import QueryRefusedError, ServiceError
from actors.search.live.eutils_answers import (
    DatabaseAnswer,
    PostAnswer,
    SearchAnswer,
    SummaryAnswer,
    parse_articles,
    parse_info,
    parse_post,
    parse_search,
    parse_summary,
)
from actors.search.live.eutils_errors import check_status
from actors.search.live.pacing import Pacer, shared_pacer
from actors.search.live.retry import RetryPolicy
from actors.search.live.secret import ApiKey
from actors.search.live.service import Service
from actors.search.pubmed_record import records_of
from actors.search.types import Record

EUTILS_URL = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
STARTS_PER_S, STARTS_PER_S_WITH_KEY = 3, 10
MAX_IDS = 10_000  # of one esearch or epost call
PUBMED_LAST_START = 9_998  # esearch: "'retstart' cannot be larger than 9998"
FETCH_CHUNK = 200


class EutilsClient:
    """Calls to E-utilities at `base_url` on database `db`; safe for threads.

    Clients of one process that call the same service share one pacer, unless `pacer` is given;
    `occupied` starts that pacer as if its window had just been used up. Every method raises
    QueryRefusedError (the query's fault), ServiceError (nobody's here) or ValueError (a limit).
    """

    def __init__(
        self,
        base_url: str = EUTILS_URL,
        *,
        db: str = "pubmed",
        tool: str = "seekray",
        email: str = "",
        cache: AnswerCache | None = None,
        policy: RetryPolicy | None = None,
        pacer: Pacer | None = None,
        occupied: bool = False,
        timeout_s: float = 30.0,
        concurrency: int = 8,
    ) -> None:
        key = ApiKey.from_environment()
        if key is not None and not carries_secrets(base_url):
            key = None
        limit = STARTS_PER_S if key is None else STARTS_PER_S_WITH_KEY
        self.db = db
        self.service = Service(
            "E-utilities",
            base_url,
            pacer=pacer or shared_pacer(base_url, limit, occupied=occupied),
            policy=policy,
            cache=cache,
            timeout_s=timeout_s,
            concurrency=concurrency,
            identity=[pair for pair in (("tool", tool), ("email", email)) if pair[1]],
            key=key,
        )

    def close(self) -> None:
        """Close connections and cache."""
        self.service.close()

    def esearch(
        self,
        term: str = "",
        *,
        retmax: int = 20,
        retstart: int = 0,
        sort: str = "",
        dates: tuple[date, date] | None = None,
        datetype: str = "pdat",
        usehistory: bool = False,
        webenv: str = "",
        query_key: str = "",
    ) -> SearchAnswer:
        """One esearch call; `term` arrives as it is, whatever characters it has.

        `dates` (first, last) go as `mindate` and `maxdate`. ValueError for what the service would
        refuse or cut: `retmax` above 10,000 and, in PubMed, anything beyond its first 10,000 hits.
        """
        if retmax < 0 or retstart < 0:
            raise ValueError(f"retmax {retmax} and retstart {retstart} must be 0 or more")
        if retmax > MAX_IDS:
            raise ValueError(
                f"retmax {retmax}: esearch gives at most {MAX_IDS:,} ids a call; ask for less"
            )
        if self.db == "pubmed" and (retstart > PUBMED_LAST_START or retstart + retmax > MAX_IDS):
            raise ValueError(
                f"retstart {retstart} with retmax {retmax}: PubMed serves only the first "
                f"{MAX_IDS:,} records of a query; split the query by date"
            )
        parameters = [
            ("db", self.db),
            ("term", _encodable(term)),
            ("retmode", "json"),
            ("retmax", str(retmax)),
            ("retstart", str(retstart)),
            ("sort", sort),
            ("usehistory", "y" if usehistory else ""),
            ("WebEnv", webenv),
            ("query_key", query_key),
        ]
        if dates is not None:
            parameters += [
                ("datetype", datetype),
                ("mindate", _day(dates[0])),
                ("maxdate", _day(dates[1])),
            ]
        return self.service.call(
            "POST",
            "esearch.fcgi",
            [pair for pair in parameters if pair[1] != ""],
            parse_search,
            keep=not (usehistory or webenv),
        )

    def esearch_first(
        self,
        term: str,
        k: int,
        *,
        sort: str = "",
        dates: tuple[date, date] | None = None,
        page: int = MAX_IDS,
    ) -> SearchAnswer:
        """The first `k` hits, read in pages of `page` ids.

        ValueError when `k` is above PubMed's limit. The service itself gives 9,999 of 10,000: an
        `OutputMessage` warning says so.
        """
        if self.db == "pubmed" and k > MAX_IDS:
            raise ValueError(
                f"k is {k}: PubMed serves only the first {MAX_IDS:,} records of a query; ask for "
                f"fewer or split the query by date"
            )
        size = max(1, min(page, MAX_IDS))
        first = self.esearch(term, retmax=min(k, size), sort=sort, dates=dates)
        ids, wanted = list(first.ids), min(k, first.count)
        warnings = list(first.warnings)
        while len(ids) < wanted and not (self.db == "pubmed" and len(ids) > PUBMED_LAST_START):
            more = self.esearch(
                term, retmax=min(size, wanted - len(ids)), retstart=len(ids), sort=sort, dates=dates
            )
            warnings += [one for one in more.warnings if one not in warnings]
            if not more.ids:
                raise ServiceError(
                    f"E-utilities ({self.service.base_url}/esearch.fcgi): only {len(ids)} of "
                    f"{wanted} announced ids were delivered"
                )
            ids += more.ids
        if len(ids) < wanted and not any("Restrictions achieved" in one for one in warnings):
            warnings.append(f"OutputMessage: PubMed served only the first {len(ids)} records")
        return SearchAnswer(
            first.count,
            tuple(ids[:k]),
            retmax=len(ids),
            translation=first.translation,
            mapped=first.mapped,
            warnings=tuple(warnings),
        )

    def epost(self, ids: Sequence[str]) -> list[PostAnswer]:
        """Put ids on the history server, at most 10,000 a call, all in one environment."""
        _need_ids(ids)
        posted: list[PostAnswer] = []
        for chunk in chunks(ids, MAX_IDS):
            parameters = [("db", self.db), ("id", ",".join(chunk))]
            if posted:
                parameters.append(("WebEnv", posted[0].webenv))
            posted.append(
                self.service.call("POST", "epost.fcgi", parameters, parse_post, keep=False)
            )
        return posted

    def efetch(
        self,
        ids: Sequence[str] = (),
        *,
        webenv: str = "",
        query_key: str = "",
        retstart: int = 0,
        retmax: int = MAX_IDS,
        rettype: str = "",
        retmode: str = "xml",
    ) -> bytes:
        """One efetch call, by ids or from the history server: the body, checked to be whole XML."""
        if ids:
            source = [("id", ",".join(ids))]
        elif webenv and query_key:
            source = [("WebEnv", webenv), ("query_key", query_key)]
            source += [("retstart", str(retstart)), ("retmax", str(retmax))]
        else:
            raise ValueError("efetch needs ids, or WebEnv and query_key")
        parameters = [("db", self.db), *source, ("retmode", retmode)]
        if rettype:
            parameters.append(("rettype", rettype))
        parse = _whole_xml if retmode == "xml" else _whole_text
        return self.service.call("POST", "efetch.fcgi", parameters, parse, keep=not webenv)

    def efetch_chunks(self, ids: Sequence[str], size: int = FETCH_CHUNK) -> Iterator[bytes]:
        """XML of `ids`, `size` records a body, in order; unknown ids are absent from it."""
        for chunk in chunks(ids, size):
            yield self.efetch(chunk)

    def records(self, ids: Sequence[str]) -> dict[str, Record]:
        """The PubMed articles among `ids`, by id; books and unknown ids are absent."""
        distinct = list(dict.fromkeys(ids))
        return {one.id: one for body in self.efetch_chunks(distinct) for one in records_of(body)}

    def articles(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """(title, abstract) of the PubMed records among `ids`; unknown ids are absent."""
        found: dict[str, tuple[str, str]] = {}
        for body in self.efetch_chunks(list(dict.fromkeys(ids))):
            found.update(parse_articles(200, body))
        return found

    def esummary(self, ids: Sequence[str]) -> SummaryAnswer:
        """Document summaries (version 2.0) of `ids`."""
        _need_ids(ids)
        whole = SummaryAnswer({}, {})
        for chunk in chunks(ids, FETCH_CHUNK):
            parameters = [("db", self.db), ("id", ",".join(chunk))]
            parameters += [("retmode", "json"), ("version", "2.0")]
            part = self.service.call("POST", "esummary.fcgi", parameters, parse_summary)
            whole.documents.update(part.documents)
            whole.failed.update(part.failed)
        return whole

    def einfo(self, db: str = "") -> DatabaseAnswer:
        """All databases, or the fields and links of `db`."""
        parameters = [("retmode", "json"), *([("db", db), ("version", "2.0")] if db else [])]
        return self.service.call("POST", "einfo.fcgi", parameters, parse_info)


def carries_secrets(base_url: str) -> bool:
    """True where a key may be sent: over TLS, or to this machine itself."""
    url = httpx.URL(base_url)
    if url.scheme == "https" or url.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        return False


def _day(day: date) -> str:
    return f"{day.year:04}/{day.month:02}/{day.day:02}"


def _need_ids(ids: Sequence[str]) -> None:
    if not ids:
        raise ValueError("no ids were given")


def _encodable(term: str) -> str:
    try:
        term.encode("utf-8")
    except UnicodeEncodeError as error:
        place = error.start
        raise QueryRefusedError(
            f"character {place} is half of a surrogate pair (U+{ord(term[place]):04X}), which no "
            f"request can carry: remove it",
            place,
        ) from None
    return term


def _whole_xml(status: int, body: bytes) -> bytes:
    parse_articles(status, body)
    return body


def _whole_text(status: int, body: bytes) -> bytes:
    check_status(status, body)
    if is_markup(body):
        read_xml(body, "PubmedArticleSet")
    return body
