import threading
import time
from math import nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.search.live.pacing import Pacer, shared_pacer
from tests.actors.search.live.real_server import most_in_any_window


class FakeTime:
    def __init__(self) -> None:
        self.now = 1000.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now = max(self.now + seconds, nextafter(self.now, 1e9))


steps = st.lists(
    st.tuples(
        st.floats(0, 2.5),  # idle before asking
        st.floats(0, 0.6),  # how long writing the head takes
        st.sampled_from([None, 0.0, 0.3, 5.0]),  # patience
        st.sampled_from([0.0, 0.0, 0.0, 1.7]),  # a hold that the service asks for
    ),
    max_size=40,
)


@given(steps, st.integers(1, 10), st.booleans())
def test_no_window_ever_holds_more_than_the_limit(calls, limit, occupied):
    fake = FakeTime()
    pacer = Pacer(limit, occupied=occupied, clock=fake.clock, sleep=fake.sleep)
    begun = [fake.now] * limit if occupied else []
    ended = list(begun)
    held = 0.0
    for idle, writing, patience, hold in calls:
        fake.now += idle
        if hold:
            pacer.hold(hold)
            held = max(held, fake.now + hold)
        asked = fake.now
        if not pacer.acquire(1e6 if patience is None else patience):
            assert fake.now - asked <= patience
            continue
        begun.append(fake.now)
        assert fake.now >= held
        fake.now += writing
        pacer.release()
        ended.append(fake.now)
    # However long each head took to write, start i + limit comes a window after i was written.
    assert all(begun[i + limit] - ended[i] >= 1.0 for i in range(len(begun) - limit))
    assert most_in_any_window(begun) <= limit


def test_a_pacer_gives_what_is_allowed_and_not_less():
    fake = FakeTime()
    pacer = Pacer(3, margin_s=0.25, clock=fake.clock, sleep=fake.sleep)
    starts = []
    for _ in range(7):
        with pacer.start():
            starts.append(fake.now - 1000)
    assert starts == [0, 0, 0, 1.25, 1.25, 1.25, 2.5]


def test_a_failed_start_counts_and_frees_the_turn():
    fake = FakeTime()
    pacer = Pacer(1, margin_s=0, clock=fake.clock, sleep=fake.sleep)
    with pytest.raises(OSError, match="broken"), pacer.start():
        raise OSError("broken")
    with pacer.start():
        assert fake.now == 1001
    with pytest.raises(TimeoutError, match="no request could start"), pacer.start(0.5):
        pass


def test_threads_share_the_window():
    pacer = Pacer(20, window_s=0.2, margin_s=0.0)
    starts: list[float] = []

    def run() -> None:
        for _ in range(10):
            with pacer.start():
                starts.append(time.monotonic())

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(starts) == 80
    assert most_in_any_window(starts, 0.2) <= 20
    assert 0.6 <= max(starts) - min(starts) < 2.0  # four windows full, three waits


def test_one_pacer_a_service_and_limit():
    assert shared_pacer("http://a", 3) is shared_pacer("http://a", 3)
    assert shared_pacer("http://a", 3) is not shared_pacer("http://b", 3)


@pytest.mark.parametrize(("limit", "window"), [(0, 1.0), (3, 0.0)])
def test_a_pace_must_be_possible(limit, window):
    with pytest.raises(ValueError, match="no pace"):
        Pacer(limit, window)
