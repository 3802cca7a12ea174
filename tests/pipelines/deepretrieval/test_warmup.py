import random
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.pubmed.parser import parse
from actors.search.pubmed.tree import Tree
from pipelines.data.task import Pico, Task
from pipelines.deepretrieval.answer import Answer, read_answer
from pipelines.deepretrieval.language import LANGUAGES
from pipelines.deepretrieval.warmup import content_words, demonstration, demonstrations, sides

NEED = Pico("older adults with atrial fibrillation", "warfarin", "", "risk of major bleeding")
TASK = Task("t1", NEED, frozenset({"1", "2"}))

LETTERS = st.characters(codec="latin-1", categories=["Ll", "Lu", "Nd", "Po", "Ps", "Zs"])
TEXT = st.text(LETTERS, max_size=40) | st.sampled_from(["What is it used for?", "not AND or (OR)"])
PICOS = st.builds(Pico, TEXT, TEXT, TEXT, TEXT)
TASKS = st.builds(lambda need: Task("t", need, frozenset("1")), TEXT | PICOS).filter(
    lambda task: sides(task.need)
)


def read(text, *, open_think=True):
    answer = read_answer(text, open_think=open_think)
    assert isinstance(answer, Answer), answer
    return answer


def test_content_words_are_lower_case_once_and_no_function_words():
    assert content_words("The Effect of IL-2 on the effect, or: not") == [
        "effect",
        "il",
        "2",
    ]
    assert content_words("Type 2, the TYPE of DNA", lower=False) == ["Type", "2", "DNA"]
    # PubMed passes over stop words, so a query of one of them finds nothing.
    assert content_words("What is used in gout?") == ["gout"]


def test_sides_are_the_fields_that_hold_a_word():
    assert sides(Pico("Adults", "the", "", "of pain")) == [("P", ["adults"]), ("O", ["pain"])]
    assert sides("Gout, acute?") == [("Q", ["gout", "acute"])]


@settings(deadline=None)
@given(TASKS, st.integers(), st.booleans())
def test_demonstrations_are_well_formed_and_the_engine_parses_them(task, seed, open_think):
    text = demonstration(task, random.Random(seed), open_think=open_think)
    query = read(text, open_think=open_think).query
    tree = parse(query)
    assert isinstance(tree, Tree), tree
    assert tree.warnings == ()


@settings(deadline=None)
@given(TASKS, st.integers())
def test_only_words_of_the_need_occur_and_stems_have_four_letters(task, seed):
    known = {word for _, words in sides(task.need, lower=False) for word in words}
    query = read(demonstration(task, random.Random(seed), open_think=True)).query
    terms = [t for t in re.findall(r"[^\W_]+\*?", query) if t not in ("AND", "OR")]
    assert terms
    for term in terms:
        stem = term.removesuffix("*")
        if stem == term:
            assert term in known
        else:
            assert len(stem) >= 4
            assert any(word.startswith(stem) and word != stem for word in known)


@settings(deadline=None)
@given(TASKS, st.integers(), st.frozensets(st.text(max_size=3)))
def test_what_is_relevant_does_not_shape_a_demonstration(task, seed, relevant):
    other = replace(task, relevant=relevant)
    one = demonstration(task, random.Random(seed), open_think=True)
    assert demonstration(other, random.Random(seed), open_think=True) == one


def test_a_supplied_think_tag_is_not_written():
    bare = demonstration(TASK, random.Random(3), open_think=True)
    assert demonstration(TASK, random.Random(3), open_think=False) == "<think>" + bare


def test_every_structure_occurs():
    made = demonstrations([TASK], 600, "seed", open_think=True)
    answers = [read(text) for _, text in made]
    forms = {form for a in answers for form in re.split("; ", a.thinking.rstrip("."))}
    one = {"one word", "one word, cut"}
    many = {"any word", "any word, cut", "all word", "all word, cut", "phrase"}
    assert forms == {
        *(f"{side} {form}" for side in "PO" for form in one | many),
        *(f"I {form}" for form in one),  # warfarin is one word
        "all needed",
        "either will do",
    }
    orders = {tuple(re.findall(r"\b[PIO]\b", a.thinking)) for a in answers}
    assert {("P", "I", "O"), ("P",), ("I",), ("O",), ("I", "O")} <= orders
    assert any(order == ("O", "P") for order in orders)  # shuffled
    assert any(" AND " in a.query and " OR " in a.query for a in answers)


def test_a_plan_says_what_its_query_does():
    # One side of one word: the only choices are to cut it (by 1 to 3 letters) or not.
    task = Task("t", "warfarin", frozenset("1"))
    seen = {text for _, text in demonstrations([task], 200, "0", open_think=True)}
    cut = [f'Q one word, cut.</think><answer>{{"query": "{s}*"}}</answer>' for s in STEMS]
    assert seen == {'Q one word.</think><answer>{"query": "warfarin"}</answer>', *cut}


STEMS = ("warfa", "warfar", "warfari")


def test_letters_with_accents_are_written_as_they_are():
    task = Task("t", "Sjögren", frozenset("1"))
    seen = {text for _, text in demonstrations([task], 50, "0", open_think=True)}
    assert 'Q one word.</think><answer>{"query": "Sjögren"}</answer>' in seen


def test_demonstrations_are_a_function_of_the_seed():
    tasks = [replace(TASK, id=str(n)) for n in range(5)]
    one = demonstrations(tasks, 20, "7/warmup/1", open_think=True)
    assert demonstrations(tasks, 20, "7/warmup/1", open_think=True) == one
    assert demonstrations(tasks, 20, "7/warmup/2", open_think=True) != one


@pytest.mark.parametrize(("count", "most"), [(1, 1), (5, 1), (6, 2), (12, 3)])
def test_tasks_repeat_only_when_there_are_too_few(count, most):
    tasks = [replace(TASK, id=str(n)) for n in range(5)]
    ids = [task.id for task, _ in demonstrations(tasks, count, "0", open_think=True)]
    assert len(ids) == count
    assert max(ids.count(i) for i in ids) == most
    assert len(set(ids)) == min(count, 5)


def test_a_need_without_a_word_is_named():
    with pytest.raises(ValueError, match="'t9'"):
        demonstration(Task("t9", "What is it?", frozenset("1")), random.Random(0), open_think=True)


def test_demonstrations_of_engines_without_truncation_hold_no_star():
    queries = {
        read(
            demonstration(TASK, random.Random(i), open_think=True, language=LANGUAGES["trials"])
        ).query
        for i in range(300)
    }
    assert not any("*" in query for query in queries)
    assert any(" OR " in query for query in queries)


def test_demonstrations_of_free_text_engines_are_words_alone():
    words = {word for _, side in sides(NEED, lower=False) for word in side}
    for i in range(300):
        text = demonstration(TASK, random.Random(i), open_think=True, language=LANGUAGES["bm25"])
        assert set(read(text).query.split()) <= words
        assert "either will do" not in text
