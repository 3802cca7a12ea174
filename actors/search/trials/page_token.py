"""Page tokens: opaque to clients, checked here for damage, other requests and other corpora."""

import base64
import binascii
import hashlib
from collections.abc import Mapping

from actors.search.trials.request import PAGING, ApiError

_PLACE, _REQUEST, _CHECK = 8, 16, 12  # bytes


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).digest()


def _request(parameters: Mapping[str, str], corpus: str) -> bytes:
    kept = sorted((n, v) for n, v in parameters.items() if n not in PAGING and v.strip())
    return _digest(corpus, *(part for pair in kept for part in pair))[:_REQUEST]


def write_token(place: int, parameters: Mapping[str, str], corpus: str) -> str:
    """The token of the page that begins at `place` (from 0) of that request's studies."""
    head = place.to_bytes(_PLACE, "big") + _request(parameters, corpus)
    return base64.urlsafe_b64encode(head + _digest(head.hex(), corpus)[:_CHECK]).decode()


def read_token(token: str, parameters: Mapping[str, str], corpus: str) -> int:
    """The place that `token` stands for. ApiError unless it was written for that request."""
    try:
        data = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error) as error:
        raise ApiError("Parameter `pageToken` has incorrect format") from error
    head, check = data[:-_CHECK], data[-_CHECK:]
    if len(head) != _PLACE + _REQUEST or check != _digest(head.hex(), corpus)[:_CHECK]:
        raise ApiError("Parameter `pageToken` has incorrect format")
    if head[_PLACE:] != _request(parameters, corpus):
        raise ApiError("`pageToken` belongs to a request with other parameters")
    return int.from_bytes(head[:_PLACE], "big")
