import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.realm.inserts import evidence_block
from pipelines.realm.needs import need_of, plain


@pytest.mark.parametrize(
    ("step", "need"),
    [
        # A question that the step asks itself.
        ("First, who made AAM-N-4 Oriole? It is probably Boeing.\n\n", "Who made AAM-N-4 Oriole?"),
        ("So, in which town is it? I can't recall this.", "In which town is it?"),
        ("Okay, the question is: Who is the father of Ed?", "Who is the father of Ed?"),
        ("That does not help. Now, what is the capital of Oz? I guess Kansas.",
         "What is the capital of Oz?"),
        # What it says it lacks.
        ("Next, I need to find the capital of Mountrail County.",
         "What is the capital of Mountrail County?"),
        ("I don't remember who directed Angela, but it may be Rebecca Miller.",
         "Who directed Angela?"),
        # A claim: without what is claimed.
        ("Okay, so the director of Angela is Rebecca Miller, I think.",
         "What is the director of Angela?"),
        ("Decade was performed by Neil Young.", "What was Decade performed by?"),
        # Entity and the words around it.
        ("I guess Neil Young performed Decade.", "Neil Young performed Decade"),
        # A tag of its own is no word of it.
        ("I don't know. <search>Who made Angela?</search>", "Who made Angela?"),
        # Nothing that could be sought.
        ("Hmm.", ""),
        ("", ""),
        ("Wait, let me double-check that. I said Rome, and I see nothing against it.", ""),
        ("Is Rome consistent with that?", ""),
        ("So the answer is: Paris.", ""),
    ],
)  # fmt: skip
def test_what_a_step_is_after(step, need):
    assert need_of(step) == need


def test_retrieved_text_is_not_the_steps_own():
    step = evidence_block("Who made Angela? Rebecca Miller made Angela.") + "Who made Decade?"
    assert need_of(step) == "Who made Decade?"
    assert plain(step) == "Who made Decade?"


def test_long_steps_end_in_the_query():
    assert plain(" ".join(str(number) for number in range(100))) == " ".join(
        str(number) for number in range(60, 100)
    )


@given(st.text())
def test_any_text_has_a_need_of_bounded_length_or_none(text):
    need = need_of(text)
    assert len(need.split()) <= 41
    assert need == need.strip()
    assert "\n" not in need
