"""The engine against an evaluation over token sets that shares no code with it."""

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.search.engine import PubMedEngine
from actors.search.index import build_index
from actors.search.types import Record, SearchRequest

VOCABULARY = [f"word{c}" for c in "pqrst"]
DAYS = [None, *(date(2000, 1, 1) + timedelta(days=d) for d in (0, 1, 400))]
CORPUS = [
    Record(
        str(7 * i % 61),
        title=" ".join(w for j, w in enumerate(VOCABULARY) if (i >> j) & 1),
        abstract="filler",
        published=DAYS[i % 4],
    )
    for i in range(32)
]
TOKENS = {r.id: set(r.title.split()) for r in CORPUS}
PUBLISHED = {r.id: r.published for r in CORPUS}


@pytest.fixture(scope="module")
def engine():
    return PubMedEngine(build_index(CORPUS))


words = st.sampled_from(VOCABULARY)
expressions = st.recursive(
    words,
    lambda inner: st.tuples(
        inner, st.lists(st.tuples(st.sampled_from(["AND", "OR", "NOT", " "]), inner), max_size=4)
    ),
    max_leaves=12,
)


def text(expression):
    if isinstance(expression, str):
        return expression
    first, rest = expression
    return "(" + text(first) + "".join(f" {op} {text(e)}" for op, e in rest) + ")"


def holds(expression, tokens):
    """Strictly left to right, except that words side by side are one term."""
    if isinstance(expression, str):
        return expression in tokens
    first, rest = expression
    terms = [[None, [first]]]
    for op, operand in rest:
        if op == " " and isinstance(operand, str) and isinstance(terms[-1][1][-1], str):
            terms[-1][1].append(operand)
        else:
            terms.append([op, [operand]])
    value = True
    for op, operands in terms:
        right = all(holds(operand, tokens) for operand in operands)
        value = {None: right, "OR": value or right, "NOT": value and not right}.get(
            op, value and right
        )
    return value


@settings(max_examples=250, deadline=None)
@given(expressions, st.integers(0, 40), st.sampled_from([None, *DAYS[1:]]))
def test_engine_equals_brute_force(engine, expression, k, date_to):
    expected = [
        id_
        for id_, tokens in TOKENS.items()
        if holds(expression, tokens)
        and (date_to is None or (PUBLISHED[id_] is not None and PUBLISHED[id_] <= date_to))
    ]
    expected.sort(key=lambda i: (PUBLISHED[i] or date.min, int(i)), reverse=True)
    outcome = engine.search(SearchRequest(text(expression), k, date_to=date_to))
    assert outcome.total == len(expected)
    assert list(outcome.ids) == expected[:k]
    ranked = engine.search(SearchRequest(text(expression), 100, date_to=date_to, order="relevance"))
    assert sorted(ranked.ids) == sorted(expected)
