"""`parse(write(tree))` is the same tree again."""

from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.pubmed.fields import SHORT_TAGS
from actors.search.pubmed.parser import parse
from actors.search.pubmed.printing import write
from actors.search.pubmed.tree import Tree
from actors.search.types import QueryError

TAGS = [f"[{tag}]" for tag in SHORT_TAGS.values()]
PIECES = (
    'AND OR NOT and ( ) " “ [ ] [ti:~2] [dp] [x] [mh:noexp] : & | rat 2010 diabet* low-dose * #1 '
    "~3 , / β 10.1/x neoplasms/dt last 5 years 2010/02 spring ß ﬁ"
)
FRAGMENTS = st.sampled_from([*PIECES.split(), *TAGS])
TEXTS = st.lists(FRAGMENTS | st.text(max_size=4), max_size=25).map(" ".join) | st.text()

words = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
terms = st.one_of(
    words,
    st.builds(" ".join, st.lists(words, min_size=2, max_size=3)),
    st.builds('"{} {}"'.format, words, words),
    st.builds("{}{}".format, words, st.sampled_from(TAGS)),
    st.builds('"{} {}"{}'.format, words, words, st.sampled_from(TAGS)),
    st.builds('"{} {}"[tiab:~{}]'.format, words, words, st.integers(0, 99)),
    st.builds("{}/{}[majr]".format, words, words),
    st.builds("2001:{}[edat]".format, st.integers(2001, 2020)),
    st.builds('"last {} months"[dp]'.format, st.integers(1, 99)),
    st.builds("#{}".format, st.integers(1, 9)),
    st.just('"1 2"[uid]'),
)
queries = st.recursive(
    terms,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR", "NOT", ""]), inner),
        st.builds("(NOT {})".format, inner),
    ),
    max_leaves=20,
)


def check(query):
    tree = parse(query)
    if isinstance(tree, QueryError):
        assert 0 <= tree.position <= len(query)
        return False
    text = write(tree.nodes)
    again = parse(text)
    assert isinstance(again, Tree), (query, text)
    assert again.nodes == tree.nodes, (query, text)
    assert write(again.nodes) == text
    return True


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_any_text_that_parses_comes_back(text):
    check(text)


@settings(max_examples=300, deadline=None)
@given(queries)
def test_written_queries_come_back(query):
    assert check(query)


def test_depth_and_length():
    for query in (
        "(" * 20_000 + "rat" + ")" * 20_000,
        "".join(f"(w{i} NOT " for i in range(5_000)) + "rat",
        "NOT (" * 5_000 + "rat",
        "(" * 3_000 + "rat" + "".join(f") OR w{i}" for i in range(3_000)),
    ):
        assert check(query)
