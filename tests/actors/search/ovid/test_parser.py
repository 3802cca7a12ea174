"""Ovid searches to trees, written out as PubMed's `write` would, by hand."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.ovid import parse_ovid
from actors.search.pubmed.tree import DateRange, Ids, Near, Operator, Term, Tree
from actors.search.types import QueryError


def show(query):
    """The tree as text, fully parenthesised: fields by their columns' first letters."""
    tree = parse_ovid(query)
    assert isinstance(tree, Tree), tree
    stack = []
    for node in tree.nodes:
        if node is Operator.COMPLEMENT:
            stack.append(f"(NOT {stack.pop()})")
        elif isinstance(node, Operator):
            right, left = stack.pop(), stack.pop()
            stack.append(f"({left} {node.value} {right})")
        else:
            stack.append(leaf(node))
    assert len(stack) == 1
    return stack[0]


def leaf(node):
    if isinstance(node, Ids):
        return f"ids:{','.join(node.ids)}"
    if isinstance(node, DateRange):
        column = node.field.stores[0] if node.field else "published"
        return f"{node.start}..{node.end}:{column}"
    place = "".join(store[0] for store in node.field.stores)
    if isinstance(node, Near):
        groups = " ".join("/".join(group) for group in node.groups)
        return f"<{groups}>{'' if node.slop is None else node.slop}:{place}"
    assert isinstance(node, Term)
    words = " ".join(word for piece in node.pieces for word in piece)
    if node.field.kind == "text":
        return f"{words}:{place}"
    end = f"/{node.qualifier}" if node.qualifier else ""
    return f"{'exp ' if node.explode else ''}{words}{end}:{node.field.label.split()[-1]}"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # adj, then AND, then NOT, then OR
        ("a.ti. or b.ti. and c.ti.", "(a:t OR (b:t AND c:t))"),
        ("a.ti. not b.ti. and c.ti.", "(a:t NOT (b:t AND c:t))"),
        ("a.ti. or b.ti. not c.ti.", "(a:t OR (b:t NOT c:t))"),
        ("a.ti. and b.ti. or c.ti. not d.ti.", "((a:t AND b:t) OR (c:t NOT d:t))"),
        ("(a or b adj3 c).ti.", "(a:t OR <b c>2:t)"),
        ("(a and b adj c).ti.", "(a:t AND <b c>:t)"),
        ("A.TI. OR B.ti. AND c.Ti.", "(a:t OR (b:t AND c:t))"),
        ("(a.ti. or b.ti.) and c.ti.", "((a:t OR b:t) AND c:t)"),
        ("a.ti. not b.ti. not c.ti.", "((a:t NOT b:t) NOT c:t)"),
        # fields of words, phrases and groups; inner ones win
        ("asthma.ti,ab.", "asthma:ta"),
        ("asthma.tw", "asthma:ta"),
        ("asthma.mp. [mp=title, abstract, original title]", "asthma:takmc"),
        ("asthma", "asthma:takmc"),
        ("heart attack.ti.", "<heart attack>:t"),
        ("heart adj attack.ti.", "<heart attack>:t"),
        ("(a or b.ab.).ti.", "(a:t OR b:a)"),
        ("low-dose aspirin.ti.", "<low dose aspirin>:t"),
        ('"signs and symptoms".ti.', "<signs and symptoms>:t"),
        ("x.ti,ab,kf.", "x:tak"),
        ("asthma. ti, ab.", "asthma:ta"),
        ("asthma.ti. ab .", "asthma:ta"),
        ("asthma.ti.ab", "asthma:ta"),
        ('exp "clinical trial [publication type]"/',
         "exp clinical trial publication type:Terms"),
        ("asthma.ti,sh.", "(asthma:t OR asthma:Terms)"),
        # truncation and wildcards
        ("wheez$.ti. or wheez*.ti. or wheez:.ti.", "((wheez*:t OR wheez*:t) OR wheez*:t)"),
        ("(dog$1 or colo?r or wom#n).ti.", "((dog*1:t OR colo?r:t) OR wom#n:t)"),
        # headings
        ("Asthma/", "asthma:Terms"),
        ("exp Asthma/", "exp asthma:Terms"),
        ("*Asthma/", "asthma:Topic"),
        ("exp *Asthma/ or *exp Asthma/", "(exp asthma:Topic OR exp asthma:Topic)"),
        ("Asthma/dt", "asthma/drug therapy:Terms"),
        ("exp Asthma/dt, th [Drug Therapy, Therapy]",
         "(exp asthma/drug therapy:Terms OR exp asthma/therapy:Terms)"),
        ("exp carotid arteries/su (surgery)", "exp carotid arteries/surgery:Terms"),
        ('exp "Wounds and Injuries"/', "exp wounds and injuries:Terms"),
        ("Carcinoma, Non-Small-Cell Lung/", "carcinoma non small cell lung:Terms"),
        ("Imagery (Psychotherapy)/", "imagery psychotherapy:Terms"),
        ("Delivery, Obstetric/methods", "delivery obstetric/methods:Terms"),
        ("HIV/AIDS.ti.", "<hiv aids>:t"),
        # other fields
        ("dt.fs. or drug therapy.fs.", "(drug therapy:Subheading OR drug therapy:Subheading)"),
        ("tu.xs.", "exp therapeutic use:Subheading"),
        ("randomized controlled trial.pt.", "randomized controlled trial:Type"),
        ("(animals not (humans and animals)).sh.",
         "(animals:Terms NOT (humans:Terms AND animals:Terms))"),
        ("smith j$.au.", "exp smith j*:Author"),
        ("english.la.", "exp english:Language"),
        ("12345.ui.", "ids:12345"),
        ("2012$.ed.", "2012-01-01..2012-12-31:mesh_dated"),
        ("201202*.dp.", "2012-02-01..2012-02-29:published"),
        # numbers that are no lines
        ("type 2 diabetes.ti.", "<type 2 diabetes>:t"),
        ("(5 or 6).ti.", "(5:t OR 6:t)"),
    ],
)  # fmt: skip
def test_trees(query, expected):
    assert show(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("(a adj3 b).ti.", "<a b>2:t"),
        ("(a adj1 b).ti.", "<a b>0:t"),
        ("(a adj b).ti.", "<a b>:t"),
        ("((a or b) adj3 (c or d)).ti.", "<a/b c/d>2:t"),
        ("(low adj3 (birthweight$ or birth weight$)).ti.",
         "(<low birthweight*>2:t OR (<low birth weight*>2:t AND <birth weight*>:t))"),
        ("(a adj2 b adj4 c).ti.", "(<a b c>4:t AND <a b>1:t)"),
        ("((a b) adj c).ti.", "<a b c>:t"),
        ("(drug or substance) (abuse or misuse).ti.", "<drug/substance abuse/misuse>:t"),
        ("(a adj3 (b adj2 c)).ti.", "(<a b c>3:t AND <b c>1:t)"),
        ("(a.ti. adj3 b.ti.)", "<a b>2:t"),
        ("(isch?em$ adj5 (stroke$1 or tia)).tw.", "<isch?em* stroke*1/tia>4:ta"),
        ("(a adj3 a).ti.", "<a a>2:t"),
        ("(a adj3 b).ti,sh.", "<a b>2:tm"),
    ],
)  # fmt: skip
def test_adjacency(query, expected):
    assert show(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("1. a.ti.\n2. b.ti.\n3. 1 or 2", "(a:t OR b:t)"),
        ("1 a.ti. (1234)\n2 b.ti. (5)\n3 1 and 2 (3)", "(a:t AND b:t)"),
        ("a.ti.\nb.ti.\n\n1 and 2", "(a:t AND b:t)"),
        ("#1 a.ti.\n#2 b.ti.\n#3 #1 not #2", "(a:t NOT b:t)"),
        ("# 1. a.ti.\n# 2. or/1", "a:t"),
        ("a.ti.\nb.ti.\nc.ti.\nor/1-3", "((a:t OR b:t) OR c:t)"),
        ("a.ti.\nb.ti.\nc.ti.\nand/1,3", "(a:t AND c:t)"),
        ("a.ti.\nb.ti.\nc.ti.\n1-3/OR", "((a:t OR b:t) OR c:t)"),
        ("a.ti.\nb.ti.\nc.ti.\nor/1-2,3 not 2", "(((a:t OR b:t) OR c:t) NOT b:t)"),
        ("a.ti.\nb.ti.\n(1 or 2) and c.ti.", "((a:t OR b:t) AND c:t)"),
        ("1. a.ti. or\nb.ti.\n2. 1 and c.ti.", "((a:t OR b:t) AND c:t)"),
        ("1. a.ti.\n2. (b.ti.\n or c.ti.)\n3. 1 and 2", "(a:t AND (b:t OR c:t))"),
        ("1. a.ti.\n2. b.ti.\n1 and 2", "(a:t AND b:t)"),
        ("#3 Search #1 OR #2\n#2 Search b[ti]\n#1 Search a[ti]", "(exp a:t OR exp b:t)"),
        ("#1 a[ti]\n#2 b[ti] OR c[ti]\n#3 #1 AND #2", "(exp a:t AND (exp b:t OR exp c:t))"),
        ("1. a.ti.\n2. remove duplicates from 1", "a:t"),
        ("1. 3-hydroxy.ti.\n2. 18f-fdg.ti.\n3. or/1-2", "(<3 hydroxy>:t OR <18f fdg>:t)"),
    ],
)
def test_lines(query, expected):
    assert show(query).replace("exp ", "") == expected.replace("exp ", "")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("english language", "exp english:Language"),
        ("(danish or english)", "(exp danish:Language OR exp english:Language)"),
        ("humans", "humans:Terms"),
        ("yr=\"2000 -Current\"", f"2000-01-01..{date.max}:published"),
        ("yr=2003-2006", "2003-01-01..2006-12-31:published"),
        ("ed=20111101-20140911", "2011-11-01..2014-09-11:mesh_dated"),
        ('ed ="19480101-20170630"', "1948-01-01..2017-06-30:mesh_dated"),
        ('"all child (0 to 18 years)"',
         "((exp infant:Terms OR exp child:Terms) OR adolescent:Terms)"),
        ("randomised controlled trial", "randomized controlled trial:Type"),
        ("(humans and yr=2000)", "(humans:Terms AND 2000-01-01..2000-12-31:published)"),
        ('"reviews (maximizes specificity)"',
         "((medline:ta OR <systematic review>:ta) OR meta analysis:Type)"),
    ],
)  # fmt: skip
def test_limits(limit, expected):
    assert show(f"1. a.ti.\n2. limit 1 to {limit}") == f"(a:t AND {expected})"


def test_limits_that_no_index_can_answer_are_told():
    tree = parse_ovid("a.ti.\nlimit 1 to (full text and yr=soon)")
    assert tree.warnings == (
        "OutputMessage: limit ignored: full text", "OutputMessage: limit ignored: yr=soon",
    )  # fmt: skip
    assert len(tree.nodes) == 1


@pytest.mark.parametrize(
    ("query", "message", "at"),
    [
        ("a.ti.\n1 and 3\nb.ti.", "line 2 refers to line 3, which comes later", "3\n"),
        ("a.ti.\n1 or 2", "line 2 refers to itself", "2"),
        ("a.ti.\nor/1-9", "line 2 refers to itself", "or/"),
        ("1. a.ti.\n2. 1 and #7", "line 2 refers to line 7, which does not exist", "#7"),
        ("a.ti.\nlimit 5 to humans", "line 2 refers to line 5, which does not exist", "5"),
        ("a[ti]\n#1 AND #4", "line 2 refers to line 4, which does not exist", "#4"),
        ("12 and asthma.ti.", "line 1 refers to line 12, which does not exist", "12"),
        ("", "nothing to search for", ""),
        ("--", "nothing to search for", "--"),
        ("()", "nothing to search for", "()"),
    ],
)
def test_errors_point_at_their_place(query, message, at):
    error = parse_ovid(query)
    assert isinstance(error, QueryError), error
    assert message in error.message
    assert query.startswith(at, error.position), query[error.position :]


def test_products_of_phrases_are_bounded():
    row = " or ".join(f"a{i} b" for i in range(50))
    query = f"x.ti.\n(({row}) adj3 ({row})).ti."
    error = parse_ovid(query)
    assert isinstance(error, QueryError)
    assert "more than 2000 combinations" in error.message
    assert query[error.position :].startswith("adj3")


def test_lines_that_double_each_other_are_bounded():
    query = "a\n" + "\n".join(f"{i} or {i}" for i in range(1, 60))
    error = parse_ovid(query)
    assert isinstance(error, QueryError)
    assert "terms" in error.message


@pytest.mark.parametrize(
    ("query", "warning", "expected"),
    [
        ("(a or b.ti.", "unbalanced parentheses: missing ) added", "(a:takmc OR b:t)"),
        ("a or b).ti.", "unbalanced parentheses: missing ( added at the start", "(a:t OR b:t)"),
        ("a.ti. or or b.ti.", "of several operators in a row the last one counts", "(a:t OR b:t)"),
        ("(or a).ti.", "operator without a term before it ignored", "a:t"),
        ("a.ti. and", "operator without a term after it ignored", "a:t"),
        ("Asthma/ a.ti.", "missing operator read as AND", "(asthma:Terms AND a:t)"),
        ("a.ti. b.ab.", "missing operator read as AND", "(a:t AND b:a)"),
        ("exp Asthma or a.ti.", "/ missing after the heading Asthma",
         "(exp asthma:Terms OR a:t)"),
        ("?phobia.ti.", "wildcard ignored in ?phobia", "phobia:t"),
        ("{a b} or c", "{ } read as quotation marks", "(<a b>:takmc OR c:takmc)"),
        ("a near (b or c).ti.", "near is not Ovid's: read as adj", "<a b/c>9:t"),
    ],
)  # fmt: skip
def test_what_is_tolerated_is_told(query, warning, expected):
    assert show(query) == expected
    assert any(warning in one for one in parse_ovid(query).warnings)


def test_positions_are_those_of_the_text():
    query = "1. asthma.ti.\n2. (wheez$ adj3 “night time”).tw.\n3. 1 or 2"
    tree = parse_ovid(query)
    assert query[tree.nodes[0].position :].startswith("asthma")
    assert query[tree.nodes[1].position :].startswith("adj3")


def test_depth_costs_no_recursion():
    deep = 5_000
    assert show("(" * deep + "a" + ")" * deep + ".ti.") == "a:t"
    assert len(parse_ovid("(a or " * deep + "b" + ")" * deep).nodes) == 2 * deep + 1


PARTS = st.sampled_from(
    ["a", "b$", "c?d", "1", "2", "#1", " ", "\n", "(", ")", '"', "“", "[", "]", "/", "exp ", "*",
     ".ti.", ".ti,ab", ".", ",", " and ", " OR ", " not ", " adj3 ", " adj ", "or/1-2",
     "limit 1 to ", "yr=2000", "[ti]", "[mh]", "{", "é", "\u2028", "$", "?", "#", "3. ", "search ",
     "humans"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(PARTS, max_size=60).map("".join) | st.text(max_size=200))
def test_any_text_gives_a_tree_or_an_error(text):
    outcome = parse_ovid(text)
    if isinstance(outcome, QueryError):
        assert outcome.query == text
        assert outcome.position is not None
        assert 0 <= outcome.position <= len(text)
        return
    depth = 0
    for node in outcome.nodes:
        if node is Operator.COMPLEMENT:
            assert depth >= 1
        elif isinstance(node, Operator):
            depth -= 1
            assert depth >= 1
        else:
            depth += 1
            assert 0 <= node.position <= len(text)
    assert depth == 1
