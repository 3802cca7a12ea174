"""The API key: read from the environment, shown to nobody."""

import os
import re
from urllib.parse import quote, quote_plus

KEY_VARIABLE = "NCBI_API_KEY"
_ECHOED = re.compile(r"""(api[-_]key["']?\s*[=:]\s*["']?)([^"'&\s,}<>]+)""", re.IGNORECASE)
SHOWN = "[API key]"


class ApiKey:
    """A key that no repr, log line, pickle or error shows; `reveal` is for the request's body."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @staticmethod
    def from_environment(variable: str = KEY_VARIABLE) -> "ApiKey | None":
        """The key in `variable`; None when it is unset or blank."""
        value = os.environ.get(variable, "").strip()
        return ApiKey(value) if value else None

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def __repr__(self) -> str:
        return SHOWN

    def __reduce__(self) -> str:
        raise TypeError(f"an API key is not pickled: set {KEY_VARIABLE} where the client runs")


def scrub(text: str, key: ApiKey | None) -> str:
    """`text` without the key, and without any key that a service echoes as `api-key`."""
    if key is not None:
        value = key.reveal()
        for form in sorted(
            {value, quote(value, safe=""), quote_plus(value)}, key=len, reverse=True
        ):
            text = text.replace(form, SHOWN)
    return _ECHOED.sub(lambda found: found[1] + SHOWN, text)
