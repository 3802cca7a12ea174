"""Drawings of the tree of figure 1 and of a large one."""

import json
import xml.etree.ElementTree as ET

import pytest

from pipelines.corag.draw import tree_image, tree_json, tree_text
from pipelines.corag.tree import PolicyTree
from pipelines.corag.tree_branches import chosen_path, short_label, shown_branches
from pipelines.corag.tree_search import tree_search
from pipelines.corag.types import TreeSettings
from tests.pipelines.corag.searching import drive, fig_1

LABELS = ["x1", "x2", "x3", "x4"]


def fig_1_tree(iterations: int = 5) -> PolicyTree:
    settings = TreeSettings(iterations=iterations)
    return drive(tree_search([256] * 4, 768, settings), fig_1)[0].tree


def large_tree(candidates: int = 60, iterations: int = 30, c: float = 0.2) -> PolicyTree:
    settings = TreeSettings(iterations=iterations, c=c)
    search = tree_search([100] * candidates, 1000, settings)
    return drive(search, lambda order: (sum(order) * 37 % 101) / 101)[0].tree


def test_text_of_figure_1():
    assert tree_text(fig_1_tree(), LABELS, most=6).splitlines() == [
        "17 nodes, 5 iterations, 25 visits, budget 768 tokens; "
        "picked x4, x3 (512 tokens, reward 0.900)",
        "* (no chunk)  N 5  V 2.500  average 0.500",
        "├── * x4  N 2  V 1.000  average 0.500  reward 0.100  cost 256",
        "│   ├── * x3  N 1  V 0.900  average 0.900  reward 0.900  cost 512",
        "│   └── ... 2 more (best reward 0.100)",
        "├── x3  N 2  V 0.900  average 0.450  reward 0.100  cost 256",
        "│   └── ... 3 more (best reward 0.800)",
        "├── x1  N 2  V 0.700  average 0.350  reward 0.300  cost 256",
        "│   └── ... 3 more (best reward 0.400)",
        "└── x2  N 2  V 0.200  average 0.100  reward 0.100  cost 256",
        "    └── ... 3 more (best reward 0.100)",
    ]


def test_text_shows_everything_where_there_is_room():
    lines = tree_text(fig_1_tree(), LABELS).splitlines()
    assert len(lines) == 1 + 17
    assert not any("more" in line for line in lines)
    assert lines[-1] == "    └── x4  N 1  V 0.100  average 0.100  reward 0.100  cost 512"


def test_a_large_tree_is_cut_and_every_node_counted():
    tree = large_tree()
    assert len(tree) > 1500
    for most in (1, 5, 40):
        root = shown_branches(tree, most)
        branches = list(root.walk())
        assert len(branches) == max(most, len(chosen_path(tree)))
        for branch in branches:
            assert branch.hidden + len(branch.children) == len(branch.node.children)
        assert [b.node.slot for b in branches if b.chosen] == list(chosen_path(tree))
        hidden = {slot for b in branches for slot in b.node.children} - {
            b.node.slot for b in branches
        }
        assert sum(b.hidden for b in branches) == len(hidden)


def test_the_most_visited_are_shown():
    tree = large_tree()
    root = shown_branches(tree, 40)
    shown = {branch.node.slot for branch in root.walk()}
    least = min(tree.node(slot).visits for slot in shown if tree.node(slot).visits > 1)
    left_out = [node.visits for node in tree.nodes if node.slot not in shown]
    assert max(left_out) <= least


def test_a_tree_with_nothing_in_it_is_drawn(tmp_path):
    tree = PolicyTree([300], 100, TreeSettings())
    assert tree_text(tree, ["a"]).splitlines() == [
        "1 nodes, 0 iterations, 0 visits, budget 100 tokens; nothing picked",
        "* (no chunk)  N 0  V 0.000  average 0.000",
    ]
    assert tree_image(tree, ["a"], tmp_path / "none.png").stat().st_size > 1000
    assert tree_json(tree, ["a"])["chosen"] is None


def test_a_deep_tree_is_drawn():
    # every longer order is better and exploration is off: one path of 250 chunks
    settings = TreeSettings(iterations=250, c=0.0, cost_weight=0.0)
    tree = drive(tree_search([1] * 250, 250, settings), lambda order: min(1, len(order) / 250))
    picked = tree[0].tree.best().order
    assert tree_text(tree[0].tree, ["x"] * 250).count("\n") > len(picked)


def test_json_is_plain_and_complete():
    tree = fig_1_tree()
    plain = json.loads(json.dumps(tree_json(tree, LABELS)))
    assert len(plain["nodes"]) == plain["node_count"] == 17
    assert (plain["budget"], plain["iterations"], plain["visits"]) == (768, 5, 25)
    chosen = plain["nodes"][plain["chosen"]]
    assert (chosen["label"], chosen["reward"], chosen["cost"]) == ("x3", 0.9, 512)
    assert [node["label"] for node in plain["nodes"] if node["chosen"]] == [None, "x4", "x3"]
    seen = {None}
    for node in plain["nodes"]:
        assert node["parent"] in seen
        seen.add(node["slot"])
    cut = tree_json(tree, LABELS, most=6)
    assert len(cut["nodes"]) == 6
    assert sum(node["hidden"] for node in cut["nodes"]) == 17 - 6


def test_images_are_of_their_kind(tmp_path):
    tree = fig_1_tree()
    png = tree_image(tree, LABELS, tmp_path / "deep" / "tree.PNG")
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    svg = tree_image(tree, ["one", "two", "three", "<4> $x_1$ & more"], tmp_path / "tree.svg")
    texts = [
        "".join(element.itertext()).strip()
        for element in ET.parse(svg).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert texts.count("<4> $x_1$ & more") == 4  # x4 itself, and below x1, x2 and x3
    assert "N 2 · V 1.00 · reward 0.100 · 256 tok" in texts
    first = svg.read_bytes()
    tree_image(tree, ["one", "two", "three", "<4> $x_1$ & more"], svg)
    assert svg.read_bytes() == first


def test_what_cannot_be_drawn_is_said(tmp_path):
    tree = fig_1_tree()
    with pytest.raises(ValueError, match=r"tree\.gif: the name must end in \.svg or \.png"):
        tree_image(tree, LABELS, tmp_path / "tree.gif")
    with pytest.raises(ValueError, match="3 labels for a tree over 4 candidates"):
        tree_text(tree, LABELS[:3])
    with pytest.raises(ValueError, match="must be at least 1"):
        tree_text(tree, LABELS, most=0)
    assert list(tmp_path.iterdir()) == []


def test_labels_take_one_line_and_keep_both_ends():
    assert short_label("a\nb\tc\x1b[0m", 20) == "a b c [0m"
    assert short_label("doc-0123456789#17", 9) == "doc-…9#17"
    assert len(short_label("x" * 100, 30)) == 30
