"""Which names a step has."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.realm.uncertainty.entities import find_entities
from pipelines.realm.uncertainty.spans import Kind, mentions
from pipelines.realm.uncertainty.titles import TitleIndex

TITLES = TitleIndex(
    [
        "Inception (film)", "The Lord of the Rings", "It", "The Who", "War", "Mountrail County",
        "thirty years war", "1984", "Oklahoma", "Paris",
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("step", "names"),
    [
        ("Paris is the capital.", ["Paris"]),
        ("Thinking about it, Lyon is in France.", ["Lyon", "France"]),
        ("Hmm, I'm not sure. Let me check: Wait.", []),
        ("nothing here at all", []),
        ("", []),
        ("It was Obama; Barack Obama won.", ["Barack Obama"]),
        ("Barack Obama. Later, Obama left.", ["Barack Obama"]),
        ("Alice and Bob Smith met.", ["Alice", "Bob Smith"]),
        ("The University of California, Berkeley", ["University of California", "Berkeley"]),
        ("J. R. R. Tolkien wrote it.", ["J. R. R. Tolkien"]),
        ("Ludwig van Beethoven went to St. Louis.", ["Ludwig van Beethoven", "St. Louis"]),
        ("He left Rome. Milan followed.", ["Rome", "Milan"]),
        ("France's king was Louis XIV.", ["France", "Louis XIV"]),
        ("born 31 October 1961 in Pukerua Bay", ["31 October 1961", "Pukerua Bay"]),
        ("on March 3, 1999 and in 2004", ["March 3, 1999", "2004"]),
        ("in the 1840s, or in 330 BC", ["1840s", "330 BC"]),
        ("about 3.5 million people and 12 km away", ["3.5 million", "12 km"]),
        ("it cost $5 million", ["$5 million"]),
        ('They sang "My Generation", she said.', ["My Generation"]),
        ('He said "this is not a name".', []),
        ("On Monday in May he came.", []),
        ("Besides Kenny G, who?", ["Kenny G"]),
        ("Élodie Yung plays Ōoka.", ["Élodie Yung", "Ōoka"]),
    ],
)
def test_finds_names_without_an_index(step, names):
    assert [entity.text for entity in find_entities(step)] == names


@pytest.mark.parametrize(
    ("step", "names"),
    [
        ("Inception's ending", [("Inception", "Inception (film)")]),
        ("the lord of the rings was long", [("the lord of the rings", "The Lord of the Rings")]),
        ("It was long.", []),
        ("The Who played.", [("The Who", "The Who")]),
        ("the who and what", []),
        ("the Iraq War", [("Iraq War", "")]),
        ("at the University of Oklahoma", [("University of Oklahoma", "")]),
        ("in Mountrail County's seat", [("Mountrail County", "Mountrail County")]),
        ("the thirty years war", [("thirty years war", "thirty years war")]),
        ("a war in paris", []),
    ],
)
def test_links_names_to_titles(step, names):
    assert [(entity.text, entity.title) for entity in find_entities(step, TITLES)] == names


def test_titles_are_told_from_other_names():
    kinds = [entity.kind for entity in find_entities("Paris, Lyon, 1999, 5 km, “Lux”", TITLES)]
    assert kinds == [Kind.TITLE, Kind.NAME, Kind.DATE, Kind.NUMBER, Kind.QUOTED]


WORDY = st.lists(
    st.sampled_from(
        [
            "Paris", "the", "The", "Who", "of", "Lord", "Rings", "war", "1999", "12 km", ".", ",",
            '"', "J.", "O'Neil", "’s", "Inception", "\n", "it", "It", "May", "É", "3", "-",
        ]
    ),
    max_size=20,
).map(" ".join)  # fmt: skip


@given(WORDY | st.text(max_size=60))
def test_entities_are_spans_apart_and_told_once(text):
    found = find_entities(text, TITLES)
    assert all(text[entity.start : entity.end] == entity.text for entity in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert len({entity.key for entity in found}) == len(found)
    assert all(entity.key for entity in found)


def test_mentions_whole_words_side_by_side():
    assert mentions("São Paulo", "in sao PAULO.")
    assert not mentions("Paul", "São Paulo")
    assert not mentions("Paulo São", "São Paulo")
    assert not mentions("", "São Paulo")
