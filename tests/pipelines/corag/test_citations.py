"""Citations by marks and by words."""

import pytest

from pipelines.corag.citations import Citations, citations, without_marks
from pipelines.data.chunks import Chunk

CHUNKS = (
    Chunk("a", "Aspirin lowers the risk of stroke in adults.", 10, "d1"),
    Chunk("b", "Zinc shortens the common cold by a day.", 10, "d2"),
    Chunk("c", "Zinc shortens the common cold by a day, says another.", 12, "d3"),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Zinc helps [2]. Aspirin too [1], [2].", Citations(("b", "a"), "cited")),
        ("Both help [1, 3].", Citations(("a", "c"), "cited")),
        ("Both help [9][1].", Citations(("a",), "cited", 1)),
        # No mark that counts: the second sentence has all of its content words in b and in c.
        ("Nobody knows. Zinc shortens colds by a day [7].", Citations(("b",), "inferred", 1)),
        ("Aspirin lowers stroke risk. Zinc shortens colds.", Citations(("a", "b"), "inferred")),
        ("Honey soothes throats.", Citations((), "none")),
        ("", Citations((), "none")),
        ("In [2021] it was [0].", Citations((), "none", 1)),
    ],
)
def test_citations(text, expected):
    assert citations(text, CHUNKS) == expected


def test_no_chunks():
    assert citations("Zinc helps [1].", ()) == Citations((), "none", 1)


def test_marks_are_taken_out():
    assert without_marks("Zinc helps [2]. Aspirin too [1, 2] [3].") == "Zinc helps. Aspirin too."
    assert without_marks(" An array[10] in [text] ") == "An array in [text]"
