"""Stop strings across pieces."""

from hypothesis import given
from hypothesis import strategies as st

from actors.rollout.sessions.stops import StopFilter
from actors.rollout.sessions.types import Piece


def run(pieces: list[str], *stops: str) -> tuple[list[str], bool]:
    filtered = StopFilter(stops)
    shown = [p.text for text in pieces for p in filtered.feed(Piece(text))]
    return shown + [p.text for p in filtered.flush()], filtered.found


def test_no_stops_pass_everything() -> None:
    assert run(["a", "", "b"]) == (["a", "", "b"], False)


def test_one_in_a_piece_shortens_it() -> None:
    assert run(["on", "e\nTwo\n", "x"], "\n") == (["on", "e"], True)


def test_one_across_pieces() -> None:
    assert run(["a<", "/s", ">b"], "</s>") == (["a"], True)
    assert run(["a<", "/x", ">b"], "</s>") == (["a<", "/x", ">b"], False)


def test_a_possible_beginning_is_held_back() -> None:
    filtered = StopFilter(["END"])
    assert [p.text for p in filtered.feed(Piece("the E"))] == []
    assert [p.text for p in filtered.feed(Piece("N"))] == []
    assert [p.text for p in filtered.feed(Piece("V"))] == ["the E", "N", "V"]


def test_a_shortened_piece_is_known() -> None:
    filtered = StopFilter(["b"])
    piece = Piece("abc", (7,), (-1.0,), (2.0,), words=("abc",))
    assert filtered.feed(piece) == [Piece("a", (7,), (-1.0,), (2.0,), words=("a",))]
    assert filtered.shortened is not None
    assert filtered.feed(Piece("more")) == []


def test_the_earliest_of_many_counts_and_empty_ones_do_not() -> None:
    assert run(["one two three"], "three", "two", "") == (["one "], True)


@given(
    st.lists(st.text("ab", max_size=4), max_size=8),
    st.lists(st.text("ab", min_size=1, max_size=4), max_size=3),
)
def test_equals_a_search_in_the_whole_text(pieces: list[str], stops: list[str]) -> None:
    """Where the text is not cut off earlier, and where the first match ends first."""
    shown, found = run(pieces, *stops)
    whole = "".join(pieces)
    assert found == any(stop in whole for stop in stops)
    assert whole.startswith("".join(shown))
    assert not any(stop in "".join(shown) for stop in stops)
    if not found:
        assert "".join(shown) == whole
