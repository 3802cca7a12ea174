"""Ovid to PubMed's syntax: by hand, and read back by PubMed's own parser."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.ovid import parse_ovid, to_pubmed
from actors.search.ovid.render import render
from actors.search.pubmed.fields import FIELDS
from actors.search.pubmed.parser import parse
from actors.search.pubmed.tree import DateRange, Near, Operator, Term, Tree
from actors.search.types import QueryError


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("exp Asthma/ or wheez$.ti.", '"asthma"[mh] OR wheez*[ti]'),
        ("Asthma/dt", '"asthma/drug therapy"[mh:noexp]'),
        ("*Asthma/", '"asthma"[majr:noexp]'),
        ("a.ti. or b.ti. and c.ti.", "a[ti] OR (b[ti] AND c[ti])"),
        ("a.ti. not (b.ti. not c.ti.)", "a[ti] NOT (b[ti] NOT c[ti])"),
        ("heart attack.ti.", '"heart attack"[ti]'),
        ("(heart adj3 attack).ti.", '"heart attack"[ti:~2]'),
        ("((a or b) adj3 c).ti.", '("a c"[ti:~2] OR "b c"[ti:~2])'),
        ("(drug or pill) adj abuse.ti.", '("drug abuse"[ti] OR "pill abuse"[ti])'),
        ("1. a.ti.\n2. b.ti.\n3. 1 or 2\n4. limit 3 to yr=2003-2006",
         "(a[ti] OR b[ti]) AND 2003/01/01:2006/12/31[dp]"),
        ("(animals not (humans and animals)).sh.",
         '"animals"[mh:noexp] NOT ("humans"[mh:noexp] AND "animals"[mh:noexp])'),
        ("wom#n.ti.",
         "(" + " OR ".join(f"wom{c}n[ti]" for c in "abcdefghijklmnopqrstuvwxyz") + ")"),
    ],
)  # fmt: skip
def test_by_hand(query, expected):
    assert to_pubmed(query).text == expected


@pytest.mark.parametrize(
    ("query", "text", "warning"),
    [
        ("asthma.tw.", "asthma[tiab]", "[tiab] searches also keywords"),
        ("(wheez* adj3 night).ti.", "(wheez*[ti] AND night[ti])", "searched anywhere (AND)"),
        ("(a adj3 b).mp.", '"a b"[tiab:~2]', "[tiab] in place of other fields"),
        ("dog$1.ti.", "dog[ti]", "* needs 4 characters"),
        ("wheez$2.ti.", "wheez*[ti]", "an ending of any length"),
    ],
)
def test_what_pubmed_cannot_say_is_told(query, text, warning):
    rendered = to_pubmed(query)
    assert rendered.text == text
    assert any(warning in one for one in rendered.warnings)


def test_errors_are_handed_on():
    assert isinstance(to_pubmed("1 or 2"), QueryError)


WORDS = st.sampled_from(["asthma", "wheez*", "night", "cough", "children", "il", "2"])
PLAIN = WORDS.filter(lambda word: "*" not in word)
TEXT = [f for f in FIELDS if f.kind == "text" and f.stores]
NEAR = [f for f in TEXT if f.label in ("Title", "Title/Abstract", "Affiliation")]
MESH = [f for f in FIELDS if f.label in ("MeSH Terms", "MeSH Major Topic", "Publication Type")]


def days(first, last):
    return DateRange("", first, last, 0, None)


LEAVES = (
    st.builds(lambda w, f: Term(w, ((w,),), 0, f), WORDS, st.sampled_from(TEXT))
    | st.builds(
        lambda ws, f: Near("", tuple((w,) for w in ws), None, 0, f),
        st.lists(PLAIN, min_size=2, max_size=4),
        st.sampled_from(TEXT),
    )
    | st.builds(
        lambda ws, n, f: Near("", tuple((w,) for w in ws), n, 0, f),
        st.lists(PLAIN, min_size=2, max_size=4),
        st.integers(0, 30),
        st.sampled_from(NEAR),
    )
    | st.builds(
        lambda ws, f, e: Term("", (tuple(ws),), 0, f, True, e),
        st.lists(PLAIN, min_size=1, max_size=3),
        st.sampled_from(MESH),
        st.booleans(),
    )
    | st.dates().flatmap(lambda a: st.dates(min_value=a).map(lambda b: days(a, b)))
)
JOINED = st.sampled_from([Operator.AND, Operator.OR, Operator.NOT])
NODES = st.recursive(
    LEAVES.map(lambda leaf: (leaf,)),
    lambda inner: st.builds(lambda a, b, op: (*a, *b, op), inner, inner, JOINED),
    max_leaves=12,
)


def same(node):
    """A phrase in either of its two forms: PubMed reads one as a quoted term."""
    if isinstance(node, Near) and node.slop is None:
        return Term("", (tuple(group[0] for group in node.groups),), 0, node.field, True)
    if isinstance(node, DateRange):
        label = node.field.label if node.field else "Date - Publication"
        return (node.start, node.end, label)
    return node


@settings(max_examples=300, deadline=None)
@given(NODES)
def test_what_is_written_reads_back_the_same(nodes):
    rendered = render(Tree(nodes))
    assert rendered.warnings == ()
    back = parse(rendered.text)
    assert isinstance(back, Tree), back
    assert [same(n) for n in back.nodes] == [same(n) for n in nodes]


def test_a_line_in_pubmed_syntax_comes_out_as_it_is():
    query = '("heart attack"[ti] OR asthma[mh]) NOT "letter"[pt]'
    assert parse(to_pubmed(query).text).nodes == parse(query).nodes == parse_ovid(query).nodes
