import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.deepretrieval.answer import Answer, FormatError, read_answer

THINK = "<think>plan</think>"


def answered(body, thinking="plan"):
    return f"<think>{thinking}</think><answer>{body}</answer>"


def test_a_well_formed_completion():
    text = '<think> the plan\n</think>\n<answer>\n{"query": "a AND (b OR c)"}\n</answer>\n'
    assert read_answer(text, open_think=False) == Answer("the plan", "a AND (b OR c)")


def test_the_prompt_may_supply_the_opening_tag():
    text = 'plan</think><answer>{"query": "a"}</answer>'
    assert read_answer(text, open_think=True) == Answer("plan", "a")
    assert isinstance(read_answer(text, open_think=False), FormatError)


def test_a_supplied_opening_tag_must_not_be_written_again():
    text = answered('{"query": "a"}')
    assert isinstance(read_answer(text, open_think=True), FormatError)
    assert read_answer(text, open_think=False) == Answer("plan", "a")


@pytest.mark.parametrize(
    "thinking",
    ["", "the <answer> comes next", 'say <answer>{"query": "no"}</answer>', "</answer><answer>"],
)
def test_thinking_may_be_empty_or_mention_the_answer_tags(thinking):
    text = answered('{"query": "yes"}', thinking)
    assert read_answer(text, open_think=False) == Answer(thinking, "yes")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "begin"),
        ('<answer>{"query": "a"}</answer>', "begin"),
        ("Sure. " + answered('{"query": "a"}'), "begin"),
        ('plan</think><answer>{"query": "a"}</answer>', "begin"),
        ("<think>plan", "no </think>"),
        ('<think>plan<answer>{"query": "a"}</answer>', "no </think>"),
        ("<think>" + answered('{"query": "a"}'), "more than one"),
        (answered('{"query": "a"}') + "<think>", "more than one"),
        (THINK + answered('{"query": "a"}'), "more than one"),
        (answered('{"query": "a"}') + "</think>", "more than one"),
        (THINK, "exactly one"),
        (THINK + '{"query": "a"}', "exactly one"),
        (THINK + '<answer>{"query": "a"}', "exactly one"),
        (THINK + '{"query": "a"}</answer>', "exactly one"),
        (answered('{"query": "a"}') + '<answer>{"query": "b"}</answer>', "exactly one"),
        (answered('<answer>{"query": "a"}</answer>'), "exactly one"),
        (answered('{"query": "a <answer>"}'), "exactly one"),
        (answered('{"query": "a"}') + "</answer>", "exactly one"),
        ('<think><answer>{"query": "a"}</answer></think>', "exactly one"),
        (THINK + '</answer>{"query": "a"}<answer>', "before"),
    ],
)
def test_tags_that_are_missing_repeated_or_out_of_order(text, reason):
    found = read_answer(text, open_think=False)
    assert isinstance(found, FormatError)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "not JSON"),
        (" \n ", "not JSON"),
        ("a AND b", "not JSON"),
        ("{'query': 'a'}", "not JSON"),
        ('{"query": "a"', "not JSON"),
        ('{"query": "a"} {"query": "b"}', "not JSON"),
        ('{"query": "a", "query": "a"}', "twice"),
        ('{"query": "a", "more": {"x": 1, "x": 2}}', "twice"),
        ("[" * 100_000, "not JSON"),
        ('{"query":' * 100_000, "not JSON"),
        ("9" * 10_000, "not JSON"),
        ('"a"', "not a JSON object"),
        ('["query", "a"]', "not a JSON object"),
        ("null", "not a JSON object"),
        ("{}", "non-empty"),
        ('{"Query": "a"}', "non-empty"),
        ('{"query": ""}', "non-empty"),
        ('{"query": " \\t\\n"}', "non-empty"),
        ('{"query": 1}', "non-empty"),
        ('{"query": null}', "non-empty"),
        ('{"query": ["a"]}', "non-empty"),
        ('{"query": "a \\ud800"}', "surrogate"),
        ('{"query": "a \ud800"}', "surrogate"),
    ],
)
def test_answers_that_are_not_one_json_object_with_a_query(body, reason):
    found = read_answer(answered(body), open_think=False)
    assert isinstance(found, FormatError)
    assert reason in found.reason


def test_other_keys_and_whole_surrogate_pairs_are_fine():
    body = '{"why": [1, {"deep": null}], "query": "\\ud83d\\ude00"}'
    assert read_answer(answered(body), open_think=False) == Answer("plan", "\U0001f600")


PIECES = st.sampled_from(
    ["<think>", "</think>", "<answer>", "</answer>", '{"query": "a"}', '{"query":', '"', "{", "}"]
)
ANY_TEXT = st.lists(PIECES | st.text(st.characters(), max_size=8), max_size=12).map("".join)


@settings(deadline=None)
@given(ANY_TEXT, st.booleans())
def test_any_text_is_an_answer_with_a_query_or_a_format_error(text, open_think):
    found = read_answer(text, open_think=open_think)
    if isinstance(found, Answer):
        assert found.query.strip()
        found.query.encode()
    else:
        assert found.reason


@settings(deadline=None)
@given(
    st.text().filter(lambda text: "think>" not in text),
    st.text(min_size=1).filter(lambda text: text.strip() and "answer>" not in text),
    st.booleans(),
)
def test_what_is_written_in_the_format_is_read_back(thinking, query, ascii_only):
    body = json.dumps({"query": query}, ensure_ascii=ascii_only)
    assert read_answer(answered(body, thinking), open_think=False) == Answer(
        thinking.strip(), query
    )
