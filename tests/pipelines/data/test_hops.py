import pytest

from pipelines.data.hops import Support, content, evidence_of, from_paragraphs, from_triples
from pipelines.data.relations import asked, question_of
from pipelines.realm.types import Hop


def support(id, title, evidence):
    return Support(id, title, evidence, evidence)


TAXI = support("t", "Taxi! (1932 film)", "Taxi! is a film directed by Roy Del Ruth.")
PRICE = support("p", "What Price Hollywood?", "It was directed by George Cukor.")
RUTH = support("r", "Roy Del Ruth", "Roy Del Ruth (1893 - 27 April 1961) was a director.")
CUKOR = support("c", "George Cukor", "George Cukor ( 1899 - January 24, 1983 ) was a director.")


def test_triples_that_follow_each_other():
    hops = from_triples(
        "When did the director of Taxi! die?",
        "27 April 1961",
        [("Taxi!", "director", "Roy Del Ruth"), ("Roy Del Ruth", "date of death", "27 April 1961")],
        [RUTH, TAXI],
        compares=False,
    )
    assert hops == (
        Hop("Who directed Taxi!?", "Roy Del Ruth", "t", TAXI.evidence),
        Hop("When did #1 die?", "27 April 1961", "r", RUTH.evidence),
    )


def test_triples_on_two_sides_end_in_a_comparison():
    hops = from_triples(
        "Which film's director died later, Taxi! or What Price Hollywood??",
        "What Price Hollywood?",
        [
            ("Taxi!", "director", "Roy Del Ruth"),
            ("What Price Hollywood?", "director", "George Cukor"),
            ("George Cukor (director)", "date of death", "January 24, 1983"),
            ("Roy Del Ruth", "date of death", "27 April 1961"),
        ],
        [TAXI, PRICE, RUTH, CUKOR],
        compares=True,
    )
    assert [hop.question for hop in hops] == [
        "Who directed Taxi!?",
        "Who directed What Price Hollywood??",
        "When did #2 die?",
        "When did #1 die?",
        "Comparing #3 and #4: Which film's director died later, Taxi! or What Price Hollywood??",
    ]
    assert [hop.passage for hop in hops] == ["t", "p", "c", "r", ""]
    assert hops[-1].answer == "What Price Hollywood?"


def test_the_answer_stands_for_the_last_object_and_a_fact_given_twice_is_one_hop():
    hops = from_triples(
        "Who is the grandfather?",
        "Roy D. Ruth",
        [("A", "father", "B"), ("A", "father", "C"), ("B the Second", "father", "Roy Ruth")],
        [support("a", "A", "A is a son of B."), support("b", "B", "B is a son of Roy Ruth.")],
        compares=False,
    )
    assert [(hop.question, hop.answer, hop.passage) for hop in hops] == [
        ("Who is the father of A?", "B", "a"),
        ("Who is the father of #1?", "Roy D. Ruth", "b"),
    ]


def test_no_triple_and_no_paragraph_make_no_hops():
    assert from_triples("Q?", "a", [], [TAXI], compares=False) == ()
    assert from_paragraphs("Q?", "a", [TAXI], compares=False) == ()
    assert from_triples("Q?", "a", [("x", "father", "y")], [], compares=False) == (
        Hop("Who is the father of x?", "a"),
    )


AIXAM = support("a", "Aixam", "In 2013 Polaris Industries announced that it had bought Aixam-Mega.")
POLARIS = support("p", "Polaris Industries", "Polaris is based in Roseau, Minnesota.")


@pytest.mark.parametrize("order", [(AIXAM, POLARIS), (POLARIS, AIXAM)])
def test_a_bridge_goes_from_the_named_paragraph_to_the_one_with_the_answer(order):
    question = "Where is the company that purchased Aixam based in?"
    assert from_paragraphs(question, "Roseau", order, compares=False) == (
        Hop("What is linked to Aixam?", "Polaris Industries", "a", AIXAM.evidence),
        Hop(f"What about #1 answers: {question}", "Roseau", "p", POLARIS.evidence),
    )


def test_a_bridge_that_the_question_describes():
    forum = support("f", "World Summit", "The World Summit was begun by Mikhail Gorbachev.")
    man = support("g", "Mikhail Gorbachev", "Mikhail Gorbachev is a former Soviet statesman.")
    first, last = from_paragraphs(
        "Which forum did a former Soviet statesman begin?", "World Summit", (forum, man), False
    )
    assert first == Hop(
        "What is linked to former Soviet statesman?", "Mikhail Gorbachev", "g", man.evidence
    )
    assert (last.passage, last.answer) == ("f", "World Summit")


def test_a_number_sign_in_the_question_is_no_reference():
    hops = from_paragraphs("Which #1 hit of Aixam is from Roseau?", "x", (AIXAM, POLARIS), False)
    assert hops[1].question == "What about #1 answers: Which number 1 hit of Aixam is from Roseau?"
    hops = from_triples("Q?", "y", [("Studio #54", "country", "y")], [], False)
    assert hops[0].question == "Which country is Studio number 54 in?"


def test_comparisons_have_two_sides_and_a_verdict():
    one = support("e", "The Exies", "The Exies were a rock band, formed in 1997.")
    two = support("d", "Circus Diablo", "Circus Diablo is a band, formed in early 2006.")
    question = "Which band was formed first, The Exies or Circus Diablo?"
    assert from_paragraphs(question, "The Exies", (one, two), compares=True) == (
        Hop(f"What about The Exies tells: {question}", "1997", "e", one.evidence),
        Hop(f"What about Circus Diablo tells: {question}", "2006", "d", two.evidence),
        Hop(f"Comparing #1 and #2: {question}", "The Exies"),
    )


def test_a_side_tells_the_shared_answer_or_what_it_is():
    one = support("a", "Sam", "Sam (born 1965) is an English film director. He lives.")
    two = support("b", "Ruby", "Ruby is a Chinese film director.")
    hops = from_paragraphs("Which job do Sam and Ruby share?", "film director", (one, two), True)
    assert [hop.answer for hop in hops] == ["film director", "film director", "film director"]
    hops = from_paragraphs("Are Sam and Ruby both English?", "no", (one, two), True)
    assert [hop.answer for hop in hops] == [
        "an English film director",
        "a Chinese film director",
        "no",
    ]


def test_evidence_is_the_sentence_that_says_the_answer():
    text = "Ada lived in Rome. She was born in Paris in 1900. Paris is large. She left Paris."
    assert evidence_of(text, "Paris", "Where was Ada born?") == "She was born in Paris in 1900."
    assert evidence_of(text, "1900") == "She was born in Paris in 1900."
    assert evidence_of(text, "Berlin", "Who left?") == "She left Paris."
    assert evidence_of(text, "Berlin") == "Ada lived in Rome."  # the first of equals
    assert evidence_of("", "Paris") == ""


def test_relations_become_questions():
    assert question_of("Taxi!", "publication date") == "When was Taxi! released?"
    assert question_of("Taxi!", "colour") == "What is the colour of Taxi!?"
    assert asked("Van Hook >> Place of birth") == "Where was Van Hook born?"
    assert asked(" #1 >> capital ") == "What is the capital of #1?"
    assert asked(" Where was #1 born? ") == "Where was #1 born?"
    assert asked(">> capital") == ">> capital"


def test_content_words():
    assert content("Where is the company that purchased Aixam?") == {
        "company",
        "purchased",
        "aixam",
    }
