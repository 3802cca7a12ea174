import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.realm.segment.candidates import LOOK_AHEAD, CandidateFinder, candidates, opening

BITS = ["A b.", " ", "\n", "\n\n", "Wait", "e.g.", "3.", "x. So", "</think>", "...", "é ", "?!"]
TEXTS = st.lists(
    st.sampled_from([*BITS, "。", "word", "1", '"', "\t", " <", "- "]), max_size=40
).map("".join)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("One is here. Two is there.", ["One is here."]),
        ("Pi is 3.14 here. Yes.", ["Pi is 3.14 here."]),
        ("See e.g. Paris. Then go.", ["See e.g. Paris."]),
        ("Mr. Smith met Dr. Who. Fine.", ["Mr. Smith met Dr. Who."]),
        ("By J. R. Tolkien. Good.", ["By J. R. Tolkien."]),
        ("Find x. So x is 2. Ok.", ["Find x.", "Find x. So x is 2."]),
        ("Wait, no. That is no. 5 here. Ok.", ["Wait, no.", "Wait, no. That is no. 5 here."]),
        ("Is it? Yes! Done.", ["Is it?", "Is it? Yes!"]),
        ("He said 'no.' Then left.", ["He said 'no.'"]),
        ("First line\nsecond line", ["First line"]),
        ("So:\n\n1. Add them.\n2. Stop here.", ["So:", "So:\n\n1. Add them."]),
        ("Well... it is so. End", ["Well... it is so."]),
        ("It is 4.</think>The answer", ["It is 4.", "It is 4.</think>"]),
        ("3 < 5 > 2 all along", []),
        ("これは本。それは犬", ["これは本。"]),
        ("The end. \n ", []),
        ("", []),
    ],
)
def test_where_a_step_could_end(text: str, ends: list[str]) -> None:
    assert [text[: each.offset] for each in candidates(text)] == ends


def test_what_is_known_of_a_candidate() -> None:
    first, second, third = candidates("It is.\n\n- Let me check it.  Then\nstop")
    assert (first.newlines, first.sentence, first.list_item, first.tag) == (2, True, True, False)
    assert first.opening == "let me check"
    assert (second.newlines, second.opening) == (0, "then")
    assert (third.newlines, third.sentence) == (1, False)


@pytest.mark.parametrize(
    ("following", "words"),
    [
        ("Let's check that again", "let's check that"),
        ("**Wait, no", "wait"),
        ("Wait", "wait"),
        ("42 is", ""),
        ("On the oth", "on the"),
    ],
)
def test_opening_words(following: str, words: str) -> None:
    assert opening(following) == words


@given(TEXTS, st.integers(0, 2**32))
def test_pieces_of_any_size_give_the_candidates_of_the_whole(text: str, seed: int) -> None:
    rng, finder, at, found = random.Random(seed), CandidateFinder(), 0, []
    while at < len(text):
        size = rng.choice((1, 3, 50))
        found += finder.feed(text[at : at + size])
        at += size
    assert found + finder.finish() == candidates(text)


@given(TEXTS)
def test_candidates_are_ascending_and_cut_off_no_white_space(text: str) -> None:
    offsets = [each.offset for each in candidates(text)]
    assert offsets == sorted(set(offsets))
    for start, end in zip([0, *offsets], [*offsets, len(text)], strict=True):
        step = text[start:end]
        assert step.strip() or not text.strip()
        assert end == len(text) or step == step.rstrip()


@given(TEXTS)
def test_a_candidate_is_known_after_look_ahead_characters(text: str) -> None:
    whole = candidates(text)
    for candidate in whole:
        finder = CandidateFinder()
        # The sign that tells it may stand behind white space: a line break, a tag.
        gap = len(text[candidate.offset :]) - len(text[candidate.offset :].lstrip())
        seen = finder.feed(text[: candidate.offset + gap + LOOK_AHEAD])
        if len(text) >= candidate.offset + gap + LOOK_AHEAD:
            assert candidate in seen
