from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.sentences import sentences, words


@pytest.mark.parametrize(
    "expected",
    [
        ["It works.", "It failed!", "Did it?", "Yes."],
        ["Drugs, e.g. Aspirin, help.", "See Fig. 3 for it."],
        ["Smith et al. (2003) found p < 0.05.", "We did not."],
        ["As shown by Smith et al.", "The effect was 3.5 mm."],
        ["J. R. Tolkien and S. Lewis met Dr. Who."],
        ["They lacked vitamin C.", "The U.S. Army paid."],
        ["No. 5 was first.", "The answer is no.", "Seven came."],
        ['He said "Stop."', "(They did.)", "“Go!”", "Then so on..."],
        ["A list ends with etc.", "However, Nothing is lost."],
        ["第一句。", "第二句！", "第三句"],
        ["A heading", "A paragraph"],
        ["It rose to 12. 5 rats died."],
        ["The species Homo sp. Neander is i.e. Old."],
        [],
    ],
)
def test_sentences_end_where_a_reader_ends_them(expected):
    parting = "\n\n" if expected[:1] == ["A heading"] else " "
    text = f"  {parting.join(expected)} \n"
    assert [text[start:end] for start, end in sentences(text)] == expected


@given(st.text(alphabet=st.sampled_from("ab Z.?!\n\t1。)”\"'é\u00a0"), max_size=60))
def test_sentences_hold_all_but_white_space_in_order(text):
    spans = sentences(text)
    assert all(a < b for a, b in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    assert all(text[a:b] == text[a:b].strip() for a, b in spans)


def test_words_are_spans_of_the_whole_text():
    assert words("ab  cd\nef", 1, 8) == [(1, 2), (4, 6), (7, 8)]
