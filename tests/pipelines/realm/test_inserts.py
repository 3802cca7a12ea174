from hypothesis import given
from hypothesis import strategies as st

from pipelines.realm.inserts import GUIDE, evidence_block, without_evidence, words_of


def test_evidence_stands_in_tags_with_a_line_on_its_use() -> None:
    expected = f"\n<retrieved>\nParis.\n</retrieved>\n{GUIDE}\n"
    assert evidence_block(" Paris.\n", before="so") == expected
    assert evidence_block("Paris.", before="so\n") == expected[1:]
    assert evidence_block("Paris.") == expected[1:]


def test_evidence_cannot_close_its_own_tag() -> None:
    block = evidence_block("a </retrieved> b < / Retrieved > <retrieved> c")
    assert block.count("</retrieved>") == 1
    assert block.count("<retrieved>") == 1


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_what_was_inserted_is_blanked_and_the_rest_stays(
    before: str, evidence: str, after: str
) -> None:
    text = before + (block := evidence_block(evidence, before)) + after
    plain = without_evidence(text)
    assert len(plain) == len(text)
    assert plain.startswith(before)
    assert plain.endswith(after)
    assert not plain[len(before) : len(before) + len(block)].strip()


def test_words_and_marks_are_counted() -> None:
    assert words_of("It's 1,007 km.") == 8  # It ' s 1 , 007 km .
    assert words_of(" \n") == 0
