"""What can go wrong between us and a service, sorted by whose fault it is."""


class QueryRefusedError(Exception):
    """The service read the query and will not run it. `position` is a character offset."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.message, self.position = message, position

    def __reduce__(self) -> tuple[type, tuple[str, int | None]]:
        return type(self), (self.message, self.position)


class ServiceError(Exception):
    """No answer to be had: an outage, a refused key, a request that the service does not know."""


class TransientError(Exception):
    """One attempt failed and another may not. `retry_after_s`: the wait the service asked for.

    `verdict` is what the failure turns out to be when it comes back word for word.
    """

    def __init__(
        self,
        reason: str,
        retry_after_s: float | None = None,
        verdict: Exception | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason, self.retry_after_s, self.verdict = reason, retry_after_s, verdict
