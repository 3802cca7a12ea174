"""esearch: the query's hits with everything that the service says about how it read the query."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from actors.search.emulator.envelope import element, json, wrap, xml
from actors.search.emulator.history import Entry, HistoryFullError, HistoryServer
from actors.search.emulator.library import Library, find
from actors.search.emulator.parameters import (
    ParameterError,
    Parameters,
    date_range,
    in_field,
    joined,
    order_of,
    search_window,
    whole,
)
from actors.search.http import Response
from actors.search.types import InfraFailure, QueryError, SearchResult

EMPTY = "Empty term and query_key - nothing todo"
# kind of a warning: (list in XML, list in JSON, key in JSON), in the DTD's order
_LISTS = {
    "PhraseNotFound": ("ErrorList", "errorlist", "phrasesnotfound"),
    "FieldNotFound": ("ErrorList", "errorlist", "fieldsnotfound"),
    "PhraseIgnored": ("WarningList", "warninglist", "phrasesignored"),
    "QuotedPhraseNotFound": ("WarningList", "warninglist", "quotedphrasesnotfound"),
    "OutputMessage": ("WarningList", "warninglist", "outputmessages"),
}


def esearch(
    library: Library, history: HistoryServer, parameters: Parameters, today: date
) -> Response:
    """Answer one esearch request whose db is known."""
    as_json = parameters.get("retmode", "").strip().lower() == "json"
    try:
        return _search(library, history, parameters, today, as_json)
    except (ParameterError, HistoryFullError) as error:
        return failure(str(error), as_json)


def failure(message: str, as_json: bool, status: int = 200) -> Response:
    """An `ERROR` in place of a result. The service sends status 200 with it."""
    if as_json:
        return json("esearch", {"esearchresult": {"ERROR": message}}, status)
    return xml("esearch", "\n\t" + element("ERROR", message) + "\n", status)


def _search(
    library: Library, history: HistoryServer, parameters: Parameters, today: date, as_json: bool
) -> Response:
    kind = parameters.get("rettype", "").strip().lower() or "uilist"
    if kind not in ("uilist", "count"):
        raise ParameterError(f"rettype is '{kind}', not uilist or count")
    webenv = parameters.get("webenv", "").strip()
    entries = _entries(history, webenv)
    query = in_field(parameters.get("term", "").strip(), parameters.get("field", ""))
    key = whole(parameters, "query_key", 0)
    if key and not (webenv and key <= len(entries)):
        raise ParameterError(f"Unable to obtain query #{key}")
    if not query and not key:
        raise ParameterError(EMPTY)
    if key:
        query = f"#{key} AND ({query})" if query else f"#{key}"
    condition, warnings = date_range(parameters, today)
    query = joined(query, condition)
    window = search_window(parameters)
    order, unknown = order_of(parameters)
    outcome = find(library, query, order, window, tuple(e.query for e in entries), today)
    if isinstance(outcome, QueryError):
        return failure(f"Invalid query: {outcome.message}", as_json)
    if isinstance(outcome, InfraFailure):
        return failure(f"Search Backend failed: {outcome.message}", as_json, 500)
    if kind == "count":
        return _count(outcome.total, as_json)
    kept = None
    if parameters.get("usehistory", "").strip().lower() in ("y", "yes", "true"):
        kept = history.add(Entry(query, order), webenv)
    cut = window.cut if window.start + window.count < outcome.total else ""
    if window.cut and whole(parameters, "retmax", 0) > window.start + window.count + 1:
        cut = window.cut
    messages = [*outcome.warnings]
    messages += [f"OutputMessage: {text}" for text in (*warnings, unknown, cut) if text]
    if outcome.total == 0:
        messages.append("OutputMessage: No items found.")
    write = _as_json if as_json else _as_xml
    return write(outcome, window.start, kept, sort_messages(messages))


def _entries(history: HistoryServer, webenv: str) -> tuple[Entry, ...]:
    if not webenv:
        return ()
    try:
        return history.entries(webenv)
    except KeyError:
        raise ParameterError(
            f"WebEnv '{webenv}' is unknown or has expired; search or post again"
        ) from None


def sort_messages(warnings: Sequence[str]) -> dict[str, list[str]]:
    """The texts of `Kind: text` warnings under their kinds; others are output messages."""
    found: dict[str, list[str]] = {kind: [] for kind in _LISTS}
    for warning in warnings:
        kind, colon, text = warning.partition(": ")
        if colon and kind in found:
            found[kind].append(text)
        else:
            found["OutputMessage"].append(warning)
    return found


def _count(total: int, as_json: bool) -> Response:
    if as_json:
        return json("esearch", {"esearchresult": {"count": str(total)}})
    return xml("esearch", "\n\t" + element("Count", total) + "\n")


def _as_xml(
    result: SearchResult,
    start: int,
    kept: tuple[str, int] | None,
    messages: Mapping[str, Sequence[str]],
) -> Response:
    parts = [
        element("Count", result.total),
        element("RetMax", len(result.ids)),
        element("RetStart", start),
    ]
    if kept:
        parts += [element("QueryKey", kept[1]), element("WebEnv", kept[0])]
    ids = "".join(element("Id", uid) + "\n" for uid in result.ids)
    parts.append(f"<IdList>\n{ids}</IdList>" if ids else "<IdList/>")
    mapped = [
        wrap(
            "Translation", "     ", element("From", source), "     ", element("To", target), "    "
        )
        for source, target in result.mapped
    ]
    parts.append(wrap("TranslationSet", *mapped) if mapped else "<TranslationSet/>")
    parts.append(element("QueryTranslation", result.translation))
    for name in ("ErrorList", "WarningList"):
        listed = [
            element(kind, text)
            for kind, texts in messages.items()
            if _LISTS[kind][0] == name
            for text in texts
        ]
        if listed:
            parts.append(wrap(name, *listed))
    return xml("esearch", "".join(parts))


def _as_json(
    result: SearchResult,
    start: int,
    kept: tuple[str, int] | None,
    messages: Mapping[str, Sequence[str]],
) -> Response:
    content: dict[str, Any] = {
        "count": str(result.total),
        "retmax": str(len(result.ids)),
        "retstart": str(start),
    }
    if kept:
        content |= {"querykey": str(kept[1]), "webenv": kept[0]}
    content["idlist"] = list(result.ids)
    content["translationset"] = [{"from": old, "to": new} for old, new in result.mapped]
    content["querytranslation"] = result.translation
    for name in ("errorlist", "warninglist"):
        listed = {
            key: list(messages[kind]) for kind, (_, owner, key) in _LISTS.items() if owner == name
        }
        if any(listed.values()):
            content[name] = listed
    return json("esearch", {"esearchresult": content})
