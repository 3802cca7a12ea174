"""Whose fault an error of E-utilities is: the query's, ours and the key's, or the moment's."""

from actors.search.live.bodies import excerpt, read_json
from actors.search.live.errors import QueryRefusedError, ServiceError, TransientError

_OF_THE_QUERY = ("empty term", "nothing todo", "blank", "too long", "syntax error", "invalid query")
_OF_THE_MOMENT = (
    "backend",
    "exception",
    "server",
    "internal",
    "unavailable",
    "timeout",
    "timed out",
    "temporar",
    "try again",
    "connect",
    "resolve",
    "failed",
    "database",
    "memory",
)
_OF_THE_KEY = ("api key invalid", "api key not wellformed", "invalid api key", "unknown api key")
_OF_THE_CALLER = (
    "invalid db",
    "cannot be larger than",
    "out of acceptable range",
    "can not retrieve dbinfo",
    "neither query_key nor id",
    "empty id list",
    "id list is empty",
    "unsupported",
    "retmode",
    "rettype",
    "invalid uid",
)


def refuse(message: str, status: int = 200) -> Exception:
    """The typed error that an error text of the service stands for.

    A text that we do not know, sent as an answer (status 200), is tried again; the service that
    says it time after time has read the query and means it.
    """
    text = " ".join(message.split())
    lowered = text.lower()
    if "rate limit" in lowered:
        return TransientError(f"rate limit: {text}")
    if any(known in lowered for known in _OF_THE_KEY):
        return ServiceError(f"{text}: replace or unset NCBI_API_KEY")
    if any(known in lowered for known in _OF_THE_QUERY):
        return QueryRefusedError(text)
    if any(known in lowered for known in _OF_THE_CALLER):
        return ServiceError(text)
    if 400 <= status < 500:
        return ServiceError(f"HTTP {status}: {text}")
    known = status != 200 or any(known in lowered for known in _OF_THE_MOMENT)
    verdict = None if known else QueryRefusedError(text)
    return TransientError(f"error of the service: {text}", verdict=verdict)


def check_status(status: int, body: bytes) -> None:
    """Raises what a body says that is not an answer, whatever its HTTP status."""
    if status == 414:
        raise QueryRefusedError("the query is too long for the service (HTTP 414)")
    bare = body.lstrip()
    if bare[:1] == b"{" and b'"error"' in bare[:300]:
        answer = read_json(body)
        if isinstance(answer, dict) and isinstance(answer.get("error"), str):
            raise refuse(answer["error"], status)
    if status == 200:
        return
    if bare[:1] == b"{":
        answer = read_json(body)
        for inner in answer.values() if isinstance(answer, dict) else ():
            if isinstance(inner, dict) and (error := inner.get("ERROR") or inner.get("error")):
                raise refuse(str(error), status)
    raise refuse(excerpt(body) or "an empty body", status)
