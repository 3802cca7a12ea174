from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.snippets import Snippet, merged

TEXT = "The quick brown fox jumps over a lazy dog at 5 past noon and sleeps"


def snip(start, end, text=None):
    return Snippet("1", "abstract", start, text or TEXT[start:end])


def found(*snippets):
    return [(each.offset, each.text) for each in merged(snippets)]


def test_what_overlaps_is_joined_and_what_is_inside_dropped():
    assert found(snip(10, 20), snip(0, 15), snip(4, 9), snip(0, 15)) == [(0, TEXT[:20])]


def test_what_only_touches_or_lies_apart_stays_apart_in_order():
    assert found(snip(20, 30), snip(0, 10), snip(10, 15)) == [
        (0, TEXT[:10]), (10, TEXT[10:15]), (20, TEXT[20:30])
    ]  # fmt: skip


def test_texts_that_do_not_agree_on_what_they_share_both_stay():
    assert found(snip(0, 10), snip(5, 0, "something else")) == [
        (0, TEXT[:10]), (5, "something else")
    ]  # fmt: skip


def test_a_copy_with_a_wrong_offset_is_a_copy():
    assert found(snip(0, 20), snip(40, 0, TEXT[5:12])) == [(0, TEXT[:20])]
    assert found(snip(0, 0, TEXT[5:12]), snip(40, 0, TEXT[:20])) == [(40, TEXT[:20])]


def test_what_a_joined_piece_holds_is_dropped():
    one, two, three = snip(2, 3), snip(3, 5), snip(4, 29)
    assert one.text in TEXT[3:29]
    assert found(one, two, three) == [(3, TEXT[3:29])]


SPANS = st.lists(
    st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, 30)).map(
        lambda span: snip(span[0], span[0] + span[1])
    ),
    max_size=8,
)


@given(SPANS, st.randoms())
def test_every_snippet_is_in_one_piece_and_the_order_given_does_not_matter(snippets, random):
    pieces = merged(snippets)
    assert all(any(each.text in piece.text for piece in pieces) for each in snippets)
    assert all(TEXT[p.offset : p.offset + len(p.text)] == p.text for p in pieces)
    assert not any(a.text in b.text for a in pieces for b in pieces if a is not b)
    shuffled = list(snippets)
    random.shuffle(shuffled)
    assert merged(shuffled) == pieces
