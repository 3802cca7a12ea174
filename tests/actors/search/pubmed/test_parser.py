from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.pubmed.parser import parse
from actors.search.pubmed.tree import DateRange, History, Ids, Near, Operator, Term, Tree
from actors.search.types import QueryError


def shape(query):
    """The parsed query in postfix notation, one string a node."""
    tree = parse(query)
    assert isinstance(tree, Tree), tree
    return [show(node) for node in tree.nodes]


def show(node):
    if isinstance(node, Operator):
        return node.value
    if isinstance(node, DateRange):
        if node.last:
            return f"last {node.last[0]} {node.last[1]}"
        return f"{node.start}..{node.end}"
    if isinstance(node, Ids):
        return f"{' '.join(node.ids)}[UID]"
    if isinstance(node, History):
        return f"#{node.number}"
    if isinstance(node, Near):
        words = " ".join(word for (word,) in node.groups)
        return f"{words}[{node.field.label}:~{node.slop}]"
    text = " ".join("-".join(piece) for piece in node.pieces)
    text = f'"{text}"' if node.quoted else text
    return f"{text}[{node.field.label}]" if node.field else text


def warnings(query):
    tree = parse(query)
    assert isinstance(tree, Tree)
    return tree.warnings


@pytest.mark.parametrize(
    ("query", "postfix"),
    [
        ("rat OR cat AND dog", ["rat", "cat", "OR", "dog", "AND"]),
        ("rat NOT cat NOT dog", ["rat", "cat", "NOT", "dog", "NOT"]),
        ("rat OR (cat AND dog)", ["rat", "cat", "dog", "AND", "OR"]),
        ("rat | cat & dog", ["rat", "cat", "OR", "dog", "AND"]),
        ("rat|cat", ["rat", "cat", "OR"]),
        ("rat or cat", ["rat or cat"]),
        ("rat and cat", ["rat and cat"]),  # a stop word, unless it is part of a heading
        ("ANDROID NOTE", ["android note"]),
        ("(rat)AND(cat)", ["rat", "cat", "AND"]),
        ('rat "red cat" dog', ["rat", '"red-cat"', "AND", "dog", "AND"]),
        ("“red cat”[ti]", ['"red-cat"[Title]']),
        ("red cat [ T I ] dog", ["red cat[Title]", "dog", "AND"]),
        ("red cat[Title/Abstract]", ["red cat[Title/Abstract]"]),
        ("low-dose aspirin", ["low-dose aspirin"]),
        ("Crohn’s", ["crohn-s"]),
        ("il2,il4;il6 0.5", ["il2 il4 il6 0 5"]),
        ("diabet* insulin", ["diabet* insulin"]),
        ('"breast neoplas*"', ['"breast-neoplas*"']),
        ("title: red cat[ti]", ["title red cat[Title]"]),
        ("1 2 AND 3 4", ["1 2", "3 4", "AND"]),
        ("12345 23456", ["12345 23456[UID]"]),
        ("12345, 23456", ["12345 23456[UID]"]),
        ("12345 23456[pmid] OR rat", ["12345 23456[UID]", "rat", "OR"]),
        ("rat AND [pdat]", ["rat"]),
        ("rat AND ([pdat] : [pdat])", ["rat"]),
        ("([pdat]:[pdat]) OR rat", ["rat"]),
        ('rat AND ""', ["rat"]),
        ("rat AND () OR cat", ["rat", "cat", "OR"]),
        ("rat AND NOT cat", ["rat", "cat", "NOT"]),
        ("rat AND (NOT cat)", ["rat", "cat", "COMPLEMENT", "AND"]),
        ("AND rat OR", ["rat"]),
    ],
)
def test_how_a_query_is_read(query, postfix):
    assert shape(query) == postfix


@pytest.mark.parametrize(
    ("query", "postfix"),
    [
        ("2010[dp]", ["2010-01-01..2010-12-31"]),
        ("2010:2015[dp]", ["2010-01-01..2015-12-31"]),
        ("2010/01:3000[dp]", ["2010-01-01..3000-12-31"]),
        ("2010/02/03[pdat]", ["2010-02-03..2010-02-03"]),
        ("2010/02/03 : 2010/02/03[dp]", ["2010-02-03..2010-02-03"]),
        ('"2010/05"[dp] : "3000"[Publication Date]', ["2010-05-01..3000-12-31"]),
        ('"2010" : "2011"[Date - Publication]', ["2010-01-01..2011-12-31"]),
        ("rat 2010:2015[dp]", ["rat", "2010-01-01..2015-12-31", "AND"]),
        ("rat 2010[dp] cat", ["rat", "2010-01-01..2010-12-31", "AND", "cat", "AND"]),
        ("2010[dp]:2011 rat", ["2010-01-01..2011-12-31", "rat", "AND"]),
        ("2010:[dp]", ["2010-01-01..9999-12-31"]),
        (":2010[dp]", ["0001-01-01..2010-12-31"]),
        ("yesterday[dp]", ["None..None"]),
        ("2010/13:2011[dp]", ["None..None"]),
        ("1999 winter[dp]", ["1999-01-01..1999-01-31"]),
    ],
)
def test_dates(query, postfix):
    assert shape(query) == postfix


def test_dates_are_dates():
    assert parse("2010[dp]").nodes[0].start == date(2010, 1, 1)


@pytest.mark.parametrize(
    ("query", "warning"),
    [
        ("lecanemab[NoSuchField]", "FieldNotFound: NoSuchField"),
        ("rat)", "OutputMessage: unbalanced parentheses: extra ) ignored"),
        ("((rat", "OutputMessage: unbalanced parentheses: missing ) added"),
        ('"red rat', "OutputMessage: quotation mark or bracket without its partner ignored"),
        ("rat[ti", "OutputMessage: quotation mark or bracket without its partner ignored"),
        ("rat AND", "OutputMessage: operator without a term after it ignored"),
        ("AND rat", "OutputMessage: operator without a term before it ignored"),
        ("rat AND OR cat", "OutputMessage: of several operators in a row the last one counts"),
        ("(rat OR cat)[ti]", "OutputMessage: [ti] without a term before it ignored"),
        (
            "rat*",
            "OutputMessage: truncation ignored in rat*: * needs 4 characters and the end of a word",
        ),
    ],
)
def test_what_is_tolerated_is_said(query, warning):
    assert warning in warnings(query)
    assert len(warnings(query)) == 1


@pytest.mark.parametrize("query", ["rat*", "*rats", "ra*ts", '"ra* cat"', "rats**"])
def test_no_truncation_is_dropped_without_a_word(query):
    assert any("truncation ignored" in warning for warning in warnings(query))


@pytest.mark.parametrize(
    ("query", "position"),
    [
        ("", 0),
        ("  ?!", 2),
        ("[pdat]", 0),
        ("([pdat] : [pdat])", 0),
        ("AND OR NOT", 0),
    ],
)
def test_what_cannot_be_run_is_a_query_error(query, position):
    outcome = parse(query)
    assert isinstance(outcome, QueryError)
    assert (outcome.query, outcome.position) == (query, position)


def test_depth_and_length_cost_no_recursion():
    assert shape("(" * 50_000 + "rat" + ")" * 50_000) == ["rat"]
    right = parse("".join(f"(w{i} OR " for i in range(10_000)) + "rat")
    assert isinstance(right, Tree)
    assert len(right.nodes) == 20_001
    assert len(parse("rat:" * 20_000).nodes[0].pieces) == 20_000


PIECES = 'AND OR NOT and ( ) " “ [ ] [ti] [dp] [x] : & | rat 2010 diabet* low-dose * #1 ~3 , / β'
FRAGMENTS = st.sampled_from(PIECES.split())
TEXTS = st.lists(FRAGMENTS | st.text(max_size=4), max_size=25).map(" ".join) | st.text()


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_any_text_gives_a_whole_tree_or_a_query_error(text):
    outcome = parse(text)
    if isinstance(outcome, QueryError):
        assert outcome.query == text
        assert 0 <= outcome.position <= len(text)
        return
    height = 0
    for node in outcome.nodes:
        if isinstance(node, Term):
            assert node.pieces
            assert all(node.pieces)
            assert 0 <= node.position < len(text)
        height += {Operator.COMPLEMENT: 0}.get(node, -1) if isinstance(node, Operator) else 1
        assert height >= 1
    assert height == 1
