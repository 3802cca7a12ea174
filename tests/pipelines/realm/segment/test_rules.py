import pytest

from pipelines.realm.segment.candidates import LOOK_AHEAD
from pipelines.realm.segment.rules import EverySentence, Rules, RuleSegmenter, marker


def steps(segmenter: RuleSegmenter | EverySentence, text: str) -> list[str]:
    segmenter.reset()
    cuts = segmenter.feed(text) + segmenter.finish()
    return [text[a:b].strip() for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@pytest.mark.parametrize(
    ("opening", "kind"),
    [
        ("let me check", "reflection"),
        ("let me find", "plan"),
        ("so the", "conclusion"),
        ("on the other", ""),
        ("wait", "reflection"),
        ("paris is", ""),
        ("", ""),
    ],
)
def test_the_longest_marker_counts(opening: str, kind: str) -> None:
    assert marker(opening) == kind


def test_a_marker_or_a_blank_line_opens_a_step_and_a_mere_sentence_does_not() -> None:
    text = "Paris is big. It is old. Wait, is it? Maybe so.\n\nLyon is near.\nIt is small."
    assert steps(RuleSegmenter(), text) == [
        "Paris is big. It is old.",
        "Wait, is it?",
        "Maybe so.",
        "Lyon is near.\nIt is small.",
    ]


def test_every_sentence_and_line() -> None:
    assert steps(EverySentence(), "Paris is big. It is old\nIt is. ") == [
        "Paris is big.",
        "It is old",
        "It is.",
    ]


def test_a_long_step_ends_with_its_sentence() -> None:
    text = "Paris is a town. " * 6
    cuts = steps(RuleSegmenter(Rules(most=40)), text)
    assert cuts == ["Paris is a town. Paris is a town. Paris is a town."] * 2


def test_short_steps_go_on() -> None:
    text = "Hmm. Wait, no. So the town is Paris."
    assert steps(RuleSegmenter(Rules(least=10)), text) == [
        "Hmm. Wait, no.",
        "So the town is Paris.",
    ]


def test_a_boundary_is_told_while_the_text_goes_on() -> None:
    segmenter = RuleSegmenter()
    assert segmenter.feed("Paris is big. So it") == []
    assert segmenter.feed(" " + "x" * LOOK_AHEAD) == [len("Paris is big.")]
    segmenter.reset()
    assert segmenter.feed("Lyon. ") + segmenter.finish() == []
