"""NCBI's E-utilities over a local PubMed engine, free of any web framework.

Sources: NBK25497, NBK25499, and recorded answers of the service. Left out: databases other than
PubMed, espell's dictionary, ecitmatch, egquery, and links other than to the records cited.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date

from actors.search.emulator import docsum, medline, pubmed_xml
from actors.search.emulator.einfo import LINKS, Database, einfo
from actors.search.emulator.envelope import element, json, text, wrap, xml
from actors.search.emulator.esearch import esearch
from actors.search.emulator.history import Entry, HistoryFullError, HistoryServer
from actors.search.emulator.library import Library, members
from actors.search.emulator.parameters import (
    MAX_IDS,
    ParameterError,
    Parameters,
    id_list,
    set_window,
    whole,
)
from actors.search.http import Response
from actors.search.types import InfraFailure, QueryError, Record

MAX_JSON_SUMMARIES = 500
_NO_IDS = "ID list is empty! Possibly it has no correct IDs."
_MAX_UID = 2**64 - 1


class BackendError(Exception):
    """The engine failed, through no fault of the request."""


class EUtils:
    """Answers requests to E-utilities. Shared by all threads.

    `parameters` are decoded, names in any case as at the service; several values of one name are
    joined by a line end. `today` gives the day from which relative dates count back.
    """

    def __init__(
        self,
        library: Library,
        database: Database | None = None,
        history: HistoryServer | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        self.library = library
        self.database = database or Database(library.size)
        self.history = history or HistoryServer()
        self._today = today
        self._utilities: Mapping[str, Callable[[Parameters], Response]] = {
            "einfo": lambda parameters: einfo(self.database, parameters),
            "esearch": lambda parameters: esearch(
                self.library, self.history, parameters, self._today()
            ),
            "efetch": self._efetch,
            "esummary": self._esummary,
            "epost": self._epost,
            "elink": self._elink,
            "espell": self._espell,
        }

    def answer(self, utility: str, parameters: Parameters) -> Response:
        """Answer a request to `utility` (`esearch`, ...), as it stands before `.fcgi`."""
        run = self._utilities.get(utility)
        if run is None:
            served = ", ".join(self._utilities)
            return text(f"no utility {utility!r} here; there are {served}\n", 404)
        parameters = {name.lower(): value for name, value in parameters.items()}
        as_json = parameters.get("retmode", "").strip().lower() == "json"
        asked = parameters.get("db", "").strip() or self.database.name
        if utility == "elink":
            asked = parameters.get("dbfrom", "").strip() or self.database.name
        if utility != "einfo" and asked != self.database.name:
            return failure(utility, f"Invalid db name specified: {asked}", as_json)
        try:
            return run(parameters)
        except (ParameterError, HistoryFullError) as error:
            status = 400 if utility == "efetch" else 200
            return failure(utility, str(error), as_json, status)
        except BackendError as error:
            return failure(utility, f"Search Backend failed: {error}", as_json, 500)

    def _asked_ids(self, parameters: Parameters) -> list[str] | None:
        """The ids of a request, listed or kept; None if it names neither."""
        window = set_window(parameters)
        listed = id_list(parameters)
        if len(listed) > MAX_IDS:
            raise ParameterError(_too_many(listed))
        if listed:
            return listed[window.start : window.start + window.count]
        webenv = parameters.get("webenv", "").strip()
        key = whole(parameters, "query_key", 0)
        if not webenv or not key:
            return None
        try:
            entries = self.history.entries(webenv)
        except KeyError:
            entries = ()
        if key > len(entries):
            raise ParameterError(f"Unable to obtain query #{key}")
        found = members(self.library, entries, key, window, self._today())
        if isinstance(found, QueryError):
            raise ParameterError(found.message)
        if isinstance(found, InfraFailure):
            raise BackendError(found.message)
        return list(found)

    def _record(self, uid: str) -> Record | None:
        try:
            return self.library.record(uid)
        except KeyError:
            return None

    def _records(self, ids: Sequence[str]) -> list[tuple[str, Record | None]]:
        return [(uid, self._record(uid)) for uid in ids]

    def _efetch(self, parameters: Parameters) -> Response:
        ids = self._asked_ids(parameters)
        kind = parameters.get("rettype", "").strip().lower()
        mode = parameters.get("retmode", "").strip().lower()
        if ids is None:
            raise ParameterError(_NO_IDS)
        found = self._records(ids)
        if found and not any(record or is_uid(uid) for uid, record in found):
            raise ParameterError(_NO_IDS)
        records = [record for _, record in found if record]
        if not mode:
            mode = "text" if kind in ("medline", "abstract", "uilist") else "xml"
        if mode == "xml" and kind == "uilist":
            listed = wrap("IdList", *(element("Id", record.id) for record in records))
            return xml("efetch", listed)
        if mode == "xml" and kind in ("", "full", "xml", "abstract", "medline", "null"):
            return xml("pubmed", pubmed_xml.article_set(records))
        if mode in ("text", "txt") and kind in ("", "medline"):
            return text(medline.medline(records))
        if mode in ("text", "txt") and kind == "abstract":
            return text(medline.abstracts(records))
        if mode in ("text", "txt") and kind == "uilist":
            return text("".join(record.id + "\n" for record in records))
        raise ParameterError(
            f"rettype '{kind}' with retmode '{mode}' is not served: retmode=xml, or retmode=text "
            "with rettype=medline, abstract or uilist"
        )

    def _esummary(self, parameters: Parameters) -> Response:
        as_json = parameters.get("retmode", "").strip().lower() == "json"
        second = parameters.get("version", "").strip() == "2.0"
        ids = self._asked_ids(parameters)
        if ids is None:
            message = "Empty id list - nothing todo" if as_json else _NEITHER
            return failure("esummary", message, as_json)
        if as_json and len(ids) > MAX_JSON_SUMMARIES:
            return json(
                "esummary",
                {
                    "error": "Too many UIDs in request. Maximum number of UIDs is "
                    f"{MAX_JSON_SUMMARIES} for JSON format output."
                },
            )
        records = self._records(ids)
        for place, (uid, record) in enumerate(records):
            if record is None and not is_uid(uid):
                message = f"Invalid uid {uid} at position= {place}"
                if as_json:
                    return json("esummary", {"error": message, "result": {"uids": []}})
                return failure("esummary", message, as_json)
        if as_json:
            return json("esummary", {"result": docsum.as_json(records)})
        if second:
            return xml("docsum", docsum.version_2(records, self.database.build))
        return xml("esummary", docsum.version_1(records))

    def _epost(self, parameters: Parameters) -> Response:
        as_json = parameters.get("retmode", "").strip().lower() == "json"
        ids = id_list(parameters)
        if len(ids) > MAX_IDS:
            raise ParameterError(_too_many(ids))
        valid = [uid for uid in ids if is_uid(uid) or self._record(uid)]
        errors = [] if valid else ["Empty ID list; Nothing to store"]
        if len(valid) < len(ids):
            errors.append(
                f"Some IDs have invalid value and were omitted. Maximum ID value {_MAX_UID}"
            )
        inner = [element("ERROR", message) for message in errors]
        content: dict[str, object] = {"ERROR": " ".join(errors)} if errors else {}
        if valid:
            webenv = parameters.get("webenv", "").strip()
            try:
                webenv, key = self.history.add(Entry(_uids(valid), ids=tuple(valid)), webenv)
            except KeyError:
                raise ParameterError(
                    f"WebEnv '{webenv}' is unknown or has expired; search or post again"
                ) from None
            inner = [element("QueryKey", key), element("WebEnv", webenv), *inner]
            content = {"querykey": str(key), "webenv": webenv, **content}
        if as_json:
            return json("epost", {"epostresult": content})
        return xml("epost", "\n\t" + "\n\t".join(inner) + "\n")

    def _elink(self, parameters: Parameters) -> Response:
        """Links to the records that each record cites: `pubmed_pubmed_refs`, the only kind kept."""
        as_json = parameters.get("retmode", "").strip().lower() == "json"
        command = parameters.get("cmd", "").strip() or "neighbor"
        link = parameters.get("linkname", "").strip() or LINKS[0][0]
        if command != "neighbor" or link != LINKS[0][0]:
            raise ParameterError(
                f"cmd '{command}' with linkname '{link}' is not served: cmd=neighbor, "
                f"linkname={LINKS[0][0]}"
            )
        listed = [id_list({"id": group}) for group in parameters.get("id", "").split("\n")]
        groups = [group for group in listed if group]
        if not groups:
            groups = [group] if (group := self._asked_ids(parameters)) else []
        if not groups:
            raise ParameterError("Empty id list - nothing todo")
        sets = []
        for group in groups:
            cited = [
                uid for _, record in self._records(group) if record for uid in record.references
            ]
            sets.append((group, list(dict.fromkeys(cited))))
        if as_json:
            return json("elink", {"linksets": [_link_set(link, *pair) for pair in sets]})
        return xml("elink", "".join(_link_set_xml(link, *pair) for pair in sets))

    def _espell(self, parameters: Parameters) -> Response:
        return failure("espell", "espell is not served: there is no spelling dictionary", False)


_NEITHER = "Neither query_key nor id specified"


def _too_many(ids: Sequence[str]) -> str:
    return f"Too many UIDs in request: {len(ids)}. Maximum number of UIDs is {MAX_IDS}."


def is_uid(uid: str) -> bool:
    """True for what can be an id of the service: a whole number of 64 bits."""
    return uid.isascii() and uid.isdigit() and 0 < int(uid[:21]) <= _MAX_UID


def failure(utility: str, message: str, as_json: bool, status: int = 200) -> Response:
    """`message` as the ERROR of `utility`."""
    if as_json and utility == "esummary":
        return json(utility, {"esummaryresult": [message]}, status)
    if as_json and utility == "elink":
        return json(utility, {"linksets": [], "ERROR": message}, status)
    if as_json and utility != "espell":
        return json(utility, {f"{utility}result": {"ERROR": message}}, status)
    return xml(utility, "\n\t" + element("ERROR", message) + "\n", status)


def _uids(ids: Sequence[str]) -> str:
    """A query for just these records: PubMed reads numbers side by side as a list of ids."""
    if all(is_uid(uid) for uid in ids):
        return " ".join(ids)
    return " OR ".join(f'"{uid}"[uid]' for uid in ids)


def _link_set(link: str, ids: list[str], cited: list[str]) -> dict[str, object]:
    found = [{"dbto": "pubmed", "linkname": link, "links": cited}] if cited else []
    return {"dbfrom": "pubmed", "ids": ids} | ({"linksetdbs": found} if found else {})


def _link_set_xml(link: str, ids: list[str], cited: list[str]) -> str:
    found = ""
    if cited:
        links = (wrap("Link", element("Id", uid)) for uid in cited)
        found = wrap("LinkSetDb", element("DbTo", "pubmed"), element("LinkName", link), *links)
    listed = wrap("IdList", *(element("Id", uid) for uid in ids))
    return wrap("LinkSet", element("DbFrom", "pubmed"), listed, found) + "\n"


PATHS = re.compile(r"/entrez/eutils/(?P<utility>\w+)\.f?cgi")
