"""Server-sent events, as far as completion servers use them."""

import codecs
from collections.abc import AsyncIterator

MOST_CHARACTERS = 1 << 20
"""Of one event: a server that goes on without an end of line is broken."""


class StreamError(Exception):
    """What came is no such stream."""


async def data_events(parts: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The `data` of each event of a stream of bytes; comments and other fields are passed over.

    An event that the stream breaks off in is dropped. Raises StreamError.
    Source: WHATWG HTML, "Server-sent events".
    """
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    rest = ""
    data: list[str] = []
    size = 0
    async for part in parts:
        rest += decode(part)
        *lines, rest = rest.replace("\r\n", "\n").split("\n")
        for line in lines:
            line = line.rstrip("\r")
            if not line and data:
                yield "\n".join(data)
                data, size = [], 0
            elif line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
                size += len(line)
        if size + len(rest) > MOST_CHARACTERS:
            raise StreamError(f"an event of over {MOST_CHARACTERS} characters")
    if data == ["[DONE]"] or rest == "data: [DONE]":  # servers that do not end the last event
        yield "[DONE]"
