import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.realm.answers import clean_answer, find_answer, found_answers, is_thinking

STATED = [
    ("So the answer is: Paris.", "Paris"),
    ("so the answer is: paris", "paris"),
    ("The answer is: J. K. Rowling. She wrote it.", "J. K. Rowling"),
    ("So the answer is: the U.S.", "the U.S."),
    ("So the answer is: St. Louis, Missouri.", "St. Louis, Missouri"),
    ("It is 12. Therefore, the answer is 42.", "42"),
    ("Final answer: **Marie Curie**", "Marie Curie"),
    ("**Final Answer:** Marie Curie", "Marie Curie"),
    ("Answer:\n  yes", "yes"),
    ("<answer> Rome </answer>", "Rome"),
    ("<answer>\nRome.\n</answer> and more", "Rome"),
    (r"Thus \boxed{\text{New York}}.", "New York"),
    (r"So the answer is: $\boxed{f(x) = {1}}$", "f(x) = {1}"),
    ("So the answer is: “Ada”.", "Ada"),
    ("So the answer is: Oslo.\nSo the answer is: Bergen.", "Bergen"),
    ("<think>the answer is: no</think>So the answer is: yes.", "yes"),
]
NOT_STATED = [
    "",
    "So the answer is:",
    "So the answer is: \n",
    "<answer></answer>",
    r"\boxed{}",
    r"\boxed{never closed",
    "I have an answer in mind.",
    "The answer is not clear.",
    "Maybe the answer is Paris, let me see.",  # no conclusion: within a sentence
    "<think>So the answer is: Paris.",
    "<think>x</think> <think>So the answer is: Paris.",
    "<retrieved>\nSo the answer is: Paris.\n</retrieved>",
]


@pytest.mark.parametrize(("text", "answer"), STATED)
def test_an_answer_is_found(text: str, answer: str) -> None:
    assert find_answer(text) == answer


@pytest.mark.parametrize("text", NOT_STATED)
def test_no_answer_is_made_up(text: str) -> None:
    assert find_answer(text) is None


def test_a_statement_counts_from_where_it_starts() -> None:
    text = "One. So the answer is: J. K. Rowling. So the answer is: no."
    cut = text.index("J.") + 2  # a boundary within the name: the whole name is the answer
    assert find_answer(text, before=cut) == "J. K. Rowling"
    assert find_answer(text, before=4) is None


def test_a_prompt_that_opens_a_thought_hides_answers_until_it_is_closed() -> None:
    assert find_answer("So the answer is: A.", thinking=True) is None
    assert find_answer("So the answer is: A.</think>So the answer is: B.", thinking=True) == "B"
    assert is_thinking("hm", thinking=True)
    assert not is_thinking("hm</think>", thinking=True)


def test_a_box_within_a_statement_is_one_answer() -> None:
    assert [each.text for each in found_answers(r"The answer is: \boxed{7}.")] == ["7"]


@pytest.mark.parametrize(
    ("raw", "clean"), [(" Paris.\nNext question", "Paris"), ("", ""), ("...", ""), ("`x`;", "x")]
)
def test_a_raw_answer_is_cleaned(raw: str, clean: str) -> None:
    assert clean_answer(raw) == clean


@given(st.text(alphabet="So the answer is:.<>/answer\\boxed{}think\n ", max_size=80))
def test_any_text_is_read(text: str) -> None:
    for each in found_answers(text):
        assert 0 <= each.start < len(text)
        assert each.text == each.text.strip() != ""
        assert "\n" not in each.text
