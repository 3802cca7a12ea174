"""How a query comes to its hits: the number of records at every step of its plan."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyroaring import BitMap

from actors.search.lookup import Lookup
from actors.search.pubmed.plan import Leaf, Plan, Recall, Step, find
from actors.search.pubmed.tree import Operator


@dataclass(frozen=True, slots=True)
class Explanation:
    """A term with its hits, or an operator with those of what it joins."""

    label: str
    total: int
    parts: list["Explanation"] = field(default_factory=list)


def explain(plan: Plan, lookup: Lookup) -> Explanation:
    """The plan as a tree. Runs of one operator are one node; no recursion, whatever the depth."""
    recalled: dict[int, tuple[BitMap, Explanation]] = {}
    for number in sorted(plan.history):
        bits, node = _run(plan.history[number], lookup, recalled)
        recalled[number] = bits, Explanation(f"#{number}", node.total, [node])
    return _run(plan.steps, lookup, recalled)[1]


def together(shards: Sequence[Explanation]) -> Explanation:
    """The explanations of one plan on every shard as one: hits are summed, step by step."""
    total = sum(shard.total for shard in shards)
    root = Explanation(shards[0].label, total)
    todo = [(root, shards)]
    while todo:
        node, nodes = todo.pop()
        for parts in zip(*(each.parts for each in nodes), strict=True):
            part = Explanation(parts[0].label, sum(each.total for each in parts))
            node.parts.append(part)
            todo.append((part, parts))
    return root


def _run(
    steps: tuple[Step, ...], lookup: Lookup, recalled: dict[int, tuple[BitMap, Explanation]]
) -> tuple[BitMap, Explanation]:
    stack: list[tuple[BitMap, Explanation]] = []
    for step in steps:
        if isinstance(step, Leaf):
            bits = find(step, lookup)
            stack.append((bits, Explanation(step.label, len(bits))))
        elif isinstance(step, Recall):
            stack.append(recalled[step.number])
        elif step is Operator.COMPLEMENT:
            bits, node = stack.pop()
            bits = BitMap(range(lookup.size)) - bits
            stack.append((bits, Explanation("all records NOT", len(bits), [node])))
        else:
            (right, right_node), (left, left_node) = stack.pop(), stack.pop()
            bits = _join(step, left, right)
            if left_node.label == step.value and left_node.parts:
                left_node.parts.append(right_node)  # one run, from left to right
                stack.append((bits, Explanation(step.value, len(bits), left_node.parts)))
            else:
                stack.append((bits, Explanation(step.value, len(bits), [left_node, right_node])))
    return stack[0]


def _join(operator: Operator, left: BitMap, right: BitMap) -> BitMap:
    if operator is Operator.AND:
        return left & right
    return left | right if operator is Operator.OR else left - right
