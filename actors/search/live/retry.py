"""Trying again: exponential backoff with full jitter, bounded in attempts and in time.

Full jitter (a uniform draw between zero and the backoff) spreads callers that failed together;
`Retry-After` (RFC 9110, 10.2.3) sets a floor under it.
"""

import logging
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from actors.search.live.errors import ServiceError, TransientError

T = TypeVar("T")

_log = logging.getLogger(__name__)
LOUD_AFTER = 3  # attempts, before a person is told
SAME_ANSWER = 3  # so often word for word, and a doubtful answer is the service's last word


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `attempts` within `deadline_s`; the n-th backoff is drawn from `base_s` * 2^(n-1).

    Twelve attempts lose one query in two million where 30% of all attempts fail.
    """

    attempts: int = 12
    base_s: float = 0.5
    cap_s: float = 20.0
    deadline_s: float = 300.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or min(self.base_s, self.cap_s, self.deadline_s) < 0:
            raise ValueError(f"no retry policy: {self}")

    def backoff(self, failed: int, retry_after_s: float | None, draw: float) -> float:
        """Seconds to wait after the `failed`-th failure; `draw` is uniform in [0, 1)."""
        jitter = draw * min(self.cap_s, self.base_s * 2.0 ** min(failed - 1, 60))
        return jitter + (retry_after_s or 0.0)


def retry(
    attempt: Callable[[float], T],
    policy: RetryPolicy,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    draw: Callable[[], float] = random.random,
) -> T:
    """The answer of `attempt(seconds_left)`, called again after each TransientError.

    Raises a failure's own verdict once it has come `SAME_ANSWER` times. Raises ServiceError, which
    counts what happened, when attempts or time run out, and at once when the service asks for a
    longer wait than there is time.
    """
    begun = clock()
    seen: Counter[str] = Counter()
    for failed in range(1, policy.attempts + 1):
        left = policy.deadline_s - (clock() - begun)
        if left <= 0:
            break
        try:
            return attempt(left)
        except TransientError as error:
            reason, retry_after_s, verdict = error.reason, error.retry_after_s, error.verdict
        seen[reason] += 1
        if verdict is not None and seen[reason] >= min(SAME_ANSWER, policy.attempts):
            raise verdict
        if failed == policy.attempts:
            break
        wait = policy.backoff(failed, retry_after_s, draw())
        if clock() - begun + wait >= policy.deadline_s:
            if retry_after_s:
                reason += f", which asked for {retry_after_s:.0f} s of patience"
            raise ServiceError(_story(seen, clock() - begun, policy, reason))
        if failed == LOUD_AFTER:
            _log.warning("no answer after %d attempts (%s); going on trying", failed, reason)
        sleep(wait)
    raise ServiceError(_story(seen, clock() - begun, policy, ""))


def _story(seen: Counter[str], seconds: float, policy: RetryPolicy, last: str) -> str:
    tried = sum(seen.values())
    counted = "; ".join(f"{reason} ({n}x)" if n > 1 else reason for reason, n in seen.items())
    ending = f"; the last was {last}" if last and len(seen) > 1 else ""
    ending = f" ({last})" if last and len(seen) == 1 and last not in seen else ending
    return (
        f"gave up after {tried} of {policy.attempts} attempts and {seconds:.1f} of "
        f"{policy.deadline_s:.0f} s: {counted or 'no attempt could be made'}{ending}"
    )


def retry_after_seconds(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a `Retry-After` header asks for, as a number or an HTTP date; None if neither.

    `now` is aware (default: the current time); a moment that is past counts as 0.
    """
    if value is None:
        return None
    value = value.strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if seconds < float("inf") else None
