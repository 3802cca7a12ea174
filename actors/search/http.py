"""One HTTP answer, free of any web framework, so that services stay pure and testable."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Response:
    """What a service answers: `status` code, `content_type` header, raw `body`, extra `headers`.

    `headers` holds (name, value) pairs besides Content-Type and Content-Length.
    """

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
