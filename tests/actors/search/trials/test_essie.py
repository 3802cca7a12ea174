import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.trials.essie import (
    All,
    And,
    Context,
    Distance,
    EssieError,
    Expression,
    Missing,
    Not,
    Or,
    Range,
    Term,
    Word,
    to_text,
)
from actors.search.trials.essie_parser import parse


def term(*words):
    return Term(tuple(Word(word) for word in words))


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("heart attack", (term("heart", "attack"),)),
        ('"back pain"', (Term((Word("back pain", True),)),)),
        # AND binds tighter than OR
        ("a OR b AND c", (term("a"), term("b"), term("c"), And(2), Or(2))),
        ("(a OR b) AND c", (term("a"), term("b"), Or(2), term("c"), And(2))),
        # NOT and context operators bind tighter than AND
        ("NOT a AND b", (term("a"), Not(), term("b"), And(2))),
        ("bethesda NOT maryland", (term("bethesda"), term("maryland"), Not(), And(2))),
        (
            "AREA[Phase]PHASE2 OR c",
            (term("PHASE2"), Context("AREA", "Phase"), term("c"), Or(2)),
        ),
        (
            "EXPANSION[Concept] NOT (a OR b)",
            (term("a"), term("b"), Or(2), Not(), Context("EXPANSION", "Concept")),
        ),
        ("a AND AND b", (term("a"), term("b"), And(2))),
        ("(a AND b) AND (c)", (term("a"), term("b"), term("c"), And(3))),
        (
            "AREA[StartDate]RANGE[01/01/2015, MAX]",
            (Range("01/01/2015", "MAX"), Context("AREA", "StartDate")),
        ),
        ("AREA[X] DISTANCE[1, -2, 3mi]", (Distance("1", "-2", "3mi"), Context("AREA", "X"))),
        ("AREA[X]MISSING", (Missing(), Context("AREA", "X"))),
        ("ALL", (All(),)),
        (r"\ALL", (term("ALL"),)),
        (r"\(a\)", (term("(a)"),)),
        (r'"a \"b\" c"', (Term((Word('a "b" c', True),)),)),
        ("“curly quotes”", (Term((Word("curly quotes", True),)),)),
        (
            "COVER[FullMatch] EXPAND[None]x",
            (term("x"), Context("EXPANSION", "None"), Context("COVERAGE", "FullMatch")),
        ),
        ("all or nothing", (term("all", "or", "nothing"),)),
        ("Carcinoma, Renal", (term("Carcinoma,", "Renal"),)),
    ],
)
def test_trees(text, nodes):
    assert parse(text).nodes == nodes


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("a AND", "mismatched input '<EOF>' expecting", 5),
        ("a AND OR b", "mismatched input 'OR' expecting", 6),
        ("OR b", "mismatched input 'OR' expecting", 0),
        ("", "mismatched input '<EOF>' expecting", 0),
        ("(a", "missing ')' at '<EOF>'", 2),
        ("a)", "extraneous input ')' expecting <EOF>", 1),
        ("()", "mismatched input ')' expecting", 1),
        ("NOT", "mismatched input '<EOF>' expecting", 3),
        ("pain [ti]", "mismatched input '[' expecting {<EOF>,", 5),
        ("AREA Phase", "mismatched input 'P' expecting '['", 5),
        ("AREA[Phase", "missing ']' at '<EOF>'", 4),
        ("AREA[]x", "expecting one name", 0),
        ("COVERAGE[Some]x", "mismatched input 'Some' expecting {'Contains', 'FullMatch'", 9),
        ("a OR RANGE[1]", "expecting two values", 5),
        ('x "lung', "token recognition error at: '\"lung'", 2),
    ],
)
def test_faults(text, message, position):
    with pytest.raises(EssieError) as raised:
        parse(text)
    assert message in raised.value.message
    assert raised.value.position == position


def test_any_depth():
    depth = 20_000
    assert parse("(" * depth + "a" + ")" * depth).nodes == (term("a"),)
    text = "(a AND (b OR " * depth + "c" + "))" * depth
    needed = "a AND (b OR " * depth + "c" + ")" * depth  # AND binds tighter than OR
    assert to_text(parse(text)) == needed


def test_a_very_long_query_parses():
    words = [f"term{i}" for i in range(10_000)]
    tree = parse(" OR ".join(words))
    assert tree.nodes[-1] == Or(10_000)
    assert len(tree.nodes) == 10_001


names = st.text("ABCabc:", min_size=1, max_size=5)
plain = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="“”„＂"), min_size=1, max_size=6
)
number = st.text("0123456789.-", min_size=1, max_size=4)
leaf = st.one_of(
    st.lists(
        st.one_of(
            plain.map(Word),
            st.sampled_from(["AND", "ALL", "AREA", "or"]).map(Word),
            plain.map(lambda text: Word(text, True)),
        ),
        min_size=1,
        max_size=4,
    ).map(lambda words: (Term(tuple(words)),)),
    st.tuples(number, number).map(lambda pair: (Range(*pair),)),
    st.tuples(number, number, number).map(lambda three: (Distance(*three),)),
    st.sampled_from([(Missing(),), (All(),)]),
)


def unary(child):
    operator = st.one_of(
        st.just(Not()),
        names.map(lambda name: Context("AREA", name)),
        names.map(lambda name: Context("TILT", name)),
        st.sampled_from(["Study", "Location"]).map(lambda name: Context("SEARCH", name)),
        st.sampled_from(["None", "Lossy"]).map(lambda name: Context("EXPANSION", name)),
        st.sampled_from(["Contains", "EndsWith"]).map(lambda name: Context("COVERAGE", name)),
    )
    return st.tuples(child, operator).map(lambda pair: (*pair[0], pair[1]))


def joined(child, kind):
    def join(children):
        nodes, count = [], 0
        for one in children:
            inner = one[-1] if isinstance(one[-1], kind) else None  # one list, as parsed
            nodes += one[:-1] if inner else one
            count += inner.arity if inner else 1
        return (*nodes, kind(count))

    return st.lists(child, min_size=2, max_size=4).map(join)


trees = st.recursive(
    leaf,
    lambda child: st.one_of(unary(child), joined(child, And), joined(child, Or)),
    max_leaves=12,
)


@settings(max_examples=250, deadline=None)
@given(trees)
def test_printing_and_parsing_gives_the_tree_back(nodes):
    tree = Expression(nodes)
    assert parse(to_text(tree)) == tree


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=4),
            st.sampled_from('( ) [ ] " \\ AND OR NOT AREA[ RANGE[1, 2] SEARCH[Study] ALL'.split()),
        ),
        max_size=14,
    ).map(" ".join)
)
def test_no_text_does_anything_but_parse_or_fault(text):
    try:
        tree = parse(text)
    except EssieError as error:
        position = error.position
    else:
        position = None
        assert parse(to_text(tree)) == tree
    assert position is None or 0 <= position <= len(text)
