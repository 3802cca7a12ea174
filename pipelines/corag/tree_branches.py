"""The part of a policy tree that is worth showing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipelines.corag.tree import ROOT, PolicyNode, PolicyTree

_BESIDE = 3


@dataclass(slots=True)
class Branch:
    """A shown node: its shown children, most visited first, and what is left out beside them.

    `chosen` marks the way from the root to the picked node; `hidden` counts children that are not
    shown, `hidden_best` is the greatest own reward among them.
    """

    node: PolicyNode
    chosen: bool
    children: list["Branch"] = field(default_factory=list)
    hidden: int = 0
    hidden_best: float = 0.0

    def walk(self) -> Iterator["Branch"]:
        """This branch and everything shown below it, parents first."""
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            yield branch
            waiting.extend(reversed(branch.children))


def chosen_path(tree: PolicyTree) -> tuple[int, ...]:
    """Slots from the root to the picked node; the root alone if there is none."""
    picked = tree.best()
    slot = picked.slot if picked else ROOT
    path = [slot]
    while slot != ROOT:
        slot = int(tree.slots["parent"][slot])
        path.append(slot)
    return tuple(reversed(path))


def shown_branches(tree: PolicyTree, most: int) -> Branch:
    """The tree cut to `most` nodes, or to the chosen path if that is longer.

    Shown are the chosen path, what it was chosen over (the best few children of each of its nodes),
    then the most visited nodes; of equal ones the best average reward, then the first created. A
    node is never shown without its parent.
    """
    if most < 1:
        raise ValueError(f"a drawing of {most} nodes: must be at least 1")
    path = chosen_path(tree)
    slots = tree.slots
    averages = slots["value"] / np.maximum(slots["visits"], 1)
    # below the root a parent has more visits than each of its children, so it comes before them
    ranked = np.lexsort((-averages, -slots["visits"]))
    kept = set(path)
    for parent in path:
        first, count = int(slots["first"][parent]), int(slots["children"][parent])
        beside = first + np.argsort(-averages[first : first + count], kind="stable")
        kept.update(beside[: min(_BESIDE, max(0, most - len(kept)))].tolist())
    for slot in ranked.tolist():
        if len(kept) >= most:
            break
        kept.add(slot)
    branches = {slot: Branch(tree.node(slot), slot in path) for slot in sorted(kept)}
    for slot in (slot for slot in ranked.tolist() if slot in branches and slot != ROOT):
        branches[branches[slot].node.parent].children.append(branches[slot])
    for branch in branches.values():
        children = branch.node.children
        branch.hidden = len(children) - len(branch.children)
        if branch.hidden:
            shown = {child.node.slot for child in branch.children}
            branch.hidden_best = max(
                float(slots["reward"][slot]) for slot in children if slot not in shown
            )
    return branches[ROOT]


def check_labels(tree: PolicyTree, labels: Sequence[str]) -> None:
    """Raises ValueError unless there is one label for each candidate."""
    if len(labels) != len(tree.costs):
        raise ValueError(f"{len(labels)} labels for a tree over {len(tree.costs)} candidates")


def short_label(label: str, width: int) -> str:
    """The label on one line, cut in the middle to `width` characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in label).split())
    if len(line) <= width:
        return line
    head = (width - 1) // 2
    return f"{line[:head]}…{line[len(line) - (width - 1 - head) :]}"
