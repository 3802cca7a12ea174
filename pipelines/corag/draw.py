"""Drawings of a policy tree: as text, as an image, as plain data for a page.

All of them name chunks by `labels` (`labels[i]` for candidate i), show the node that was picked and
the way to it, and cut large trees as `shown_branches` says.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.corag.tree import PolicyTree
from pipelines.corag.tree_branches import (
    Branch,
    check_labels,
    chosen_path,
    short_label,
    shown_branches,
)

TEXT_NODES = 40
IMAGE_NODES = 30
_LABEL_WIDTH = 48
_IMAGE_LABEL_WIDTH = 30

# Sizes in inches; a longer tree is drawn narrower.
_BOX_WIDTH, _BOX_HEIGHT = 2.1, 0.42
_COLUMN, _ROW = 2.5, 0.54
_REST_ROW = 0.55  # of a row, for a "... more" below other children
_MARGIN, _HEAD, _FOOT = 0.3, 0.6, 0.75
_WIDEST = 60.0
_DOTS_PER_INCH, _MOST_DOTS = 130, 20_000
_HEAD_CHARACTERS = 12  # of the headline in an inch
_CHOSEN, _PLAIN, _FAINT = "#c2410c", "#94a3b8", "#64748b"


def tree_text(tree: PolicyTree, labels: Sequence[str], most: int = TEXT_NODES) -> str:
    """The tree like a listing of directories, about `most` nodes of it.

    A line has the chunk that is appended, then visits N, accumulated reward V, their average, the
    order's own reward and its cost in tokens. `*` marks the way to the picked order.
    """
    check_labels(tree, labels)
    lines = [_headline(tree, labels)]
    waiting: list[tuple[Branch | str, str, str]] = [(shown_branches(tree, most), "", "")]
    while waiting:
        branch, twig, margin = waiting.pop()
        if isinstance(branch, str):
            lines.append(twig + branch)
            continue
        lines.append(twig + _line(branch, labels))
        below: list[Branch | str] = [*branch.children]
        if branch.hidden:
            below.append(_rest(branch))
        for place in reversed(range(len(below))):
            twig, bar = ("└── ", "    ") if place == len(below) - 1 else ("├── ", "│   ")
            waiting.append((below[place], margin + twig, margin + bar))
    return "\n".join(lines)


def tree_json(tree: PolicyTree, labels: Sequence[str], most: int | None = None) -> dict[str, Any]:
    """The tree as plain data: settings, counts and `nodes`, parents before children.

    A node has slot, parent (None for the root), chunk (position of the appended candidate), label,
    cost, reward, value, visits, average, children (how many it has), hidden (how many of them are
    left out because `most` cuts the tree) and chosen (whether it is on the way to the pick).
    """
    check_labels(tree, labels)
    path = chosen_path(tree)
    picked = tree.best()
    if most is None:
        shown = [Branch(node, node.slot in path) for node in tree.nodes]
    else:
        shown = list(shown_branches(tree, most).walk())
    return {
        "budget": tree.budget,
        "c": tree.settings.c,
        "cost_weight": tree.settings.cost_weight,
        "wave": tree.settings.wave,
        "pick": tree.settings.pick,
        "iteration_limit": tree.settings.iterations,
        "iterations": tree.iterations,
        "visits": tree.visits,
        "node_count": len(tree),
        "chosen": None if picked is None else picked.slot,
        "nodes": [_plain(branch, labels) for branch in shown],
    }


def tree_image(
    tree: PolicyTree, labels: Sequence[str], path: str | Path, most: int = IMAGE_NODES
) -> Path:
    """Draws about `most` nodes of the tree to `path` (.svg or .png), root on the left.

    Gives the path. Boxes are coloured by average reward, the way to the pick is drawn bold.

    Raises:
        ValueError: another suffix, or not one label for each candidate.
        OSError: the file cannot be written.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise ValueError(f"drawing {path}: the name must end in .svg or .png")
    check_labels(tree, labels)
    from matplotlib import rc_context

    figure = _figure(tree, shown_branches(tree, most), labels)
    path.parent.mkdir(parents=True, exist_ok=True)
    dots = min(_DOTS_PER_INCH, _MOST_DOTS / max(figure.get_size_inches()))
    # text stays text in SVG, and the same tree gives the same file
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "policy tree"}):
        figure.savefig(
            path, format=kind, dpi=dots, metadata={"Date": None} if kind == "svg" else {}
        )
    return path


def _headline(tree: PolicyTree, labels: Sequence[str]) -> str:
    counts = (
        f"{len(tree)} nodes, {tree.iterations} iterations, {tree.visits} visits, "
        f"budget {tree.budget} tokens"
    )
    picked = tree.best()
    if picked is None:
        return f"{counts}; nothing picked"
    order = ", ".join(short_label(labels[chunk], _LABEL_WIDTH) for chunk in picked.order)
    return f"{counts}; picked {order} ({picked.cost} tokens, reward {picked.reward:.3f})"


def _name(branch: Branch, labels: Sequence[str], width: int) -> str:
    order = branch.node.order
    return short_label(labels[order[-1]], width) if order else "(no chunk)"


def _line(branch: Branch, labels: Sequence[str]) -> str:
    node = branch.node
    name = ("* " if branch.chosen else "") + _name(branch, labels, _LABEL_WIDTH)
    facts = f"N {node.visits}  V {node.value:.3f}  average {node.average:.3f}"
    if not node.order:
        return f"{name}  {facts}"
    return f"{name}  {facts}  reward {node.reward:.3f}  cost {node.cost}"


def _rest(branch: Branch) -> str:
    return f"... {branch.hidden} more (best reward {branch.hidden_best:.3f})"


def _plain(branch: Branch, labels: Sequence[str]) -> dict[str, Any]:
    node = branch.node
    return {
        "slot": node.slot,
        "parent": node.parent if node.order else None,
        "chunk": node.order[-1] if node.order else None,
        "label": labels[node.order[-1]] if node.order else None,
        "cost": node.cost,
        "reward": node.reward,
        "value": node.value,
        "visits": node.visits,
        "average": node.average,
        "children": len(node.children),
        "hidden": branch.hidden,
        "chosen": branch.chosen,
    }


def _places(root: Branch) -> tuple[dict[int, tuple[int, float]], dict[int, float], float]:
    """Column and middle row of every branch by slot, of each "... more", and the rows in all.

    Ends of the tree take a row each, from the top; parents stand in the middle of their children.
    """
    branches = list(root.walk())
    columns = {branch.node.slot: len(branch.node.order) for branch in branches}
    rows: dict[int, float] = {}
    rests: dict[int, float] = {}
    following = 0.0
    waiting: list[tuple[Branch, bool]] = [(root, False)]
    while waiting:
        branch, below_done = waiting.pop()
        slot = branch.node.slot
        if not below_done:
            waiting.append((branch, True))
            waiting.extend((child, False) for child in reversed(branch.children))
            continue
        inside = [rows[child.node.slot] for child in branch.children]
        if branch.hidden:
            space = _REST_ROW if inside else 1.0
            rests[slot] = following + space / 2
            inside.append(rests[slot])
            following += space
        if inside:
            rows[slot] = (inside[0] + inside[-1]) / 2
        else:
            rows[slot] = following + 0.5
            following += 1
    return {slot: (columns[slot], rows[slot]) for slot in columns}, rests, following


def _figure(tree: PolicyTree, root: Branch, labels: Sequence[str]) -> Any:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    places, rests, rows = _places(root)
    depth = 1 + max(column for column, _ in places.values()) + bool(rests)
    squeeze = min(1.0, (_WIDEST - 2 * _MARGIN) / (depth * _COLUMN))
    step, box = _COLUMN * squeeze, _BOX_WIDTH * squeeze
    width = max(2 * _MARGIN + depth * step, 7.0)
    height = _HEAD + _FOOT + rows * _ROW
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    axes.axis("off")

    def at(column: float, row: float) -> tuple[float, float]:
        return _MARGIN + column * step, height - _HEAD - row * _ROW

    branches = list(root.walk())
    averages = [branch.node.average for branch in branches]
    lowest = min(averages)
    highest = max(max(averages), lowest + 0.1)
    scale = Normalize(lowest, highest)
    colours = colormaps["YlGnBu"]

    def edge(start: tuple[float, float], end: tuple[float, float], chosen: bool) -> None:
        (x, y), (to_x, to_y) = (start[0] + box, start[1]), end
        bend = (x + to_x) / 2
        axes.plot(
            [x, bend, bend, to_x],
            [y, y, to_y, to_y],
            color=_CHOSEN if chosen else _PLAIN,
            linewidth=2.6 if chosen else 0.9,
            solid_joinstyle="round",
            zorder=2 if chosen else 1,
        )

    for branch in branches:
        node = branch.node
        place = at(*places[node.slot])
        for child in branch.children:
            edge(place, at(*places[child.node.slot]), child.chosen)
        if branch.hidden:
            beside = at(places[node.slot][0] + 1, rests[node.slot])
            edge(place, beside, False)
            axes.text(*beside, f" {_rest(branch)}", va="center", fontsize=7, color=_FAINT)
        # the lighter half of the colours, so that black text stays readable
        fill = colours(0.05 + 0.45 * float(scale(node.average)))
        x, y = place
        axes.add_patch(
            FancyBboxPatch(
                (x, y - _BOX_HEIGHT / 2),
                box,
                _BOX_HEIGHT,
                boxstyle="round,pad=0,rounding_size=0.06",
                facecolor=fill,
                edgecolor=_CHOSEN if branch.chosen else _PLAIN,
                linewidth=2.2 if branch.chosen else 0.8,
                zorder=3,
            )
        )
        facts = f"N {node.visits} · V {node.value:.2f}"
        if node.order:
            facts += f" · reward {node.reward:.3f} · {node.cost} tok"
        for text, shift, size, weight in (
            (
                _name(branch, labels, _IMAGE_LABEL_WIDTH),
                0.09,
                8,
                "bold" if branch.chosen else "normal",
            ),
            (facts, -0.1, 6.5, "normal"),
        ):
            axes.text(
                x + box / 2,
                y + shift,
                text,
                ha="center",
                va="center",
                fontsize=size * squeeze,
                fontweight=weight,
                parse_math=False,
                zorder=4,
            )
    counts, picked = _headline(tree, labels).split("; ", 1)
    picked = short_label(picked, int((width - 2 * _MARGIN) * _HEAD_CHARACTERS))
    axes.text(_MARGIN, height - 0.22, picked, fontsize=9, fontweight="bold", parse_math=False)
    axes.text(_MARGIN, height - 0.42, counts, fontsize=8, color=_FAINT)
    bar = figure.add_axes(
        (_MARGIN / width, 0.38 / height, min(3.0, width / 2) / width, 0.12 / height)
    )
    shades = np.linspace(0.05, 0.5, 64)[None, :]
    bar.imshow(colours(shades), aspect="auto", extent=(lowest, highest, 0, 1))
    bar.set_yticks([])
    bar.tick_params(labelsize=6.5)
    bar.set_title("average reward V/N", fontsize=6.5, loc="left", pad=2)
    return figure
