"""Published strategies and annotated trees: all parse, but for those that Ovid would refuse."""

import json
import os
from pathlib import Path

import pytest

from actors.search.ovid import annotated_tree, looks_like_ovid, parse_ovid, to_pubmed
from actors.search.pubmed.parser import parse
from actors.search.pubmed.tree import Near, Operator, Term
from actors.search.types import QueryError

BOOLEAN = (
    Path(os.environ.get("SEEKRAY_SHARED_DATA", Path(__file__).parents[5] / "shared/data")).resolve()
    / "boolean"
)

REFUSED = {
    "cleftar-CD007868": "line 26 refers to itself",
    "cleftar-CD012930": "line 18 refers to itself",
    "sigir2017-10-27": "line 18 refers to itself",
    "sigir2017-121-156": "line 14 refers to itself",
    "sigir2017-67-99": "line 19 refers to line 8, which does not exist",
    "sigir2017-67-100": "line 44 refers to line 21, which does not exist",
    "sigir2017-2-7": "the query holds nothing to search for",
}


def rows(name):
    path = BOOLEAN / name
    if not path.is_file():
        pytest.skip(f"{path} is missing: set SEEKRAY_SHARED_DATA to the folder of the data")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_published_strategies_parse():
    refused = {}
    for row in rows("pubmed_boolean_queries.jsonl"):
        if not row["syntax"].startswith("ovid"):
            continue
        outcome = parse_ovid(row["query"])
        if isinstance(outcome, QueryError):
            refused[row["id"]] = outcome.message
    assert refused == REFUSED


def test_they_come_out_in_pubmed_syntax_that_parses():
    some = [r for r in rows("pubmed_boolean_queries.jsonl") if r["syntax"] == "ovid"][::6]
    for row in some:
        rendered = to_pubmed(row["query"])
        if not isinstance(rendered, QueryError):
            assert not isinstance(parse(rendered.text), QueryError), row["id"]


def test_the_syntax_of_unmarked_queries_is_told_apart():
    for row in rows("pubmed_boolean_queries.jsonl"):
        if row["syntax"] == "pubmed":
            assert not looks_like_ovid(row["query"]), row["id"]
        elif row["syntax"] == "ovid" and any(s in row["query"] for s in (".tw.", ".mp.", "or/")):
            assert looks_like_ovid(row["query"]), row["id"]


def test_annotated_trees_convert():
    empty = 0
    for row in rows("sigir2017_pico_annotated_trees.jsonl"):
        tree = annotated_tree(row["tree"])
        if isinstance(tree, QueryError):
            empty += 1
            assert row["tree"]["queries"] == row["tree"]["children"] == []
            continue
        operators = sum(isinstance(node, Operator) for node in tree.nodes)
        assert operators == len(tree.nodes) - operators - 1
    assert empty == 1


def test_an_annotated_tree_by_hand():
    leaf = {"query_string": "mini mental stat", "fields": ["text", "title"], "truncated": True}
    mesh = {"query_string": "Vertigo /nursing", "fields": ["mesh_heading"], "exploded": True}
    other = {"query_string": "cat", "fields": ["title"], "exploded": False, "truncated": False}
    tree = annotated_tree(
        {"grouping": "not", "queries": [leaf],
         "children": [{"grouping": "or", "queries": [mesh, other], "children": []}]}
    )  # fmt: skip
    near, heading, cat, *operators = tree.nodes
    assert isinstance(near, Near)
    assert (near.groups, near.slop) == ((("mini",), ("mental",), ("stat*",)), None)
    assert set(near.field.stores) == {"title", "abstract"}
    assert isinstance(heading, Term)
    assert (heading.pieces, heading.qualifier, heading.explode) == (
        (("vertigo",),),
        "nursing",
        True,
    )
    assert cat.pieces == (("cat",),)
    assert operators == [Operator.OR, Operator.NOT]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"grouping": "xor", "queries": []}, "grouping 'xor'"),
        ({"grouping": "or", "queries": [{"query_string": "a", "fields": ["venue"]}]}, "'venue'"),
    ],
)
def test_bad_annotations_are_named(node, message):
    with pytest.raises(ValueError, match=message):
        annotated_tree(node)
