from datetime import UTC, datetime

import pytest

from actors.search.live.errors import QueryRefusedError, ServiceError, TransientError
from actors.search.live.retry import RetryPolicy, retry, retry_after_seconds

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("120", 120.0),
        (" 0.5 ", 0.5),
        ("-3", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Fri, 02 Jan 2026 03:04:35 GMT", 30.0),
        ("Fri, 02 Jan 2026 03:04:35", 30.0),
        ("Friday, 02-Jan-26 03:05:05 GMT", 60.0),
        ("Thu, 01 Jan 2026 00:00:00 GMT", 0.0),
        ("Fri, 99 Jan 2026 03:04:35 GMT", None),
    ],
)
def test_retry_after(header, seconds):
    assert retry_after_seconds(header, NOW) == seconds


class Script:
    """Fails as told, then answers; time passes only in sleeps and in attempts."""

    def __init__(self, *failures, cost=0.0):
        self.failures, self.cost = list(failures), cost
        self.now, self.waits, self.left = 0.0, [], []

    def attempt(self, left):
        self.left.append(left)
        self.now += self.cost
        if self.failures:
            raise self.failures.pop(0)
        return "answer"

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds

    def run(self, policy, draw=0.5):
        return retry(
            self.attempt, policy, clock=lambda: self.now, sleep=self.sleep, draw=lambda: draw
        )


def test_waits_double_up_to_the_cap_and_are_drawn_below_it():
    script = Script(*[TransientError("HTTP 500")] * 5)
    assert script.run(RetryPolicy(base_s=1.0, cap_s=5.0)) == "answer"
    assert script.waits == [0.5, 1.0, 2.0, 2.5, 2.5]  # half of 1, 2, 4, 5, 5


def test_retry_after_is_a_floor_with_jitter_on_top():
    script = Script(TransientError("HTTP 429", 7.0))
    assert script.run(RetryPolicy(base_s=1.0), draw=0.25) == "answer"
    assert script.waits == [7.25]


def test_attempts_are_bounded_and_the_failure_tells_what_happened():
    script = Script(*[TransientError("HTTP 500")] * 2, *[TransientError("time-out")] * 9)
    with pytest.raises(ServiceError, match=r"4 of 4 attempts .*: HTTP 500 \(2x\); time-out \(2x\)"):
        script.run(RetryPolicy(attempts=4))
    assert len(script.left) == 4


def test_time_is_bounded():
    script = Script(*[TransientError("time-out")] * 99, cost=4.0)
    with pytest.raises(ServiceError, match="gave up after 3 of 50 attempts"):
        script.run(RetryPolicy(attempts=50, base_s=0.0, deadline_s=10.0))
    assert script.left == [10.0, 6.0, 2.0]


def test_no_wait_for_what_cannot_come_in_time():
    script = Script(TransientError("HTTP 429", 3600.0))
    with pytest.raises(ServiceError, match="HTTP 429, which asked for 3600 s"):
        script.run(RetryPolicy(deadline_s=60.0))
    assert script.waits == []


def test_other_errors_are_not_tried_again():
    script = Script(QueryRefusedError("no"))
    with pytest.raises(QueryRefusedError):
        script.run(RetryPolicy())
    assert len(script.left) == 1


def test_a_policy_must_be_possible():
    with pytest.raises(ValueError, match="no retry policy"):
        RetryPolicy(attempts=0)
