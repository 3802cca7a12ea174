"""A query in terms of an index: what translation writes and any lookup, index or shard, answers.

A plan holds no bitmaps, so that it is made once from a vocabulary over all shards and sent to each.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from pyroaring import BitMap

from actors.search.lookup import Atom, Lookup, Near
from actors.search.pubmed.fields import owner
from actors.search.pubmed.tree import Operator


class Leaf(NamedTuple):
    """Records that hold any of `atoms` or `near`, or whose day is in `days`; or all records.

    `label` is how the query translation writes it.
    """

    label: str
    atoms: tuple[Atom, ...] = ()
    near: Near | None = None
    days: tuple[str, date, date] | None = None  # column, first, last
    everything: bool = False


class Recall(NamedTuple):
    """The result of query `number` of the history."""

    number: int


Step = Leaf | Recall | Operator


@dataclass(frozen=True, slots=True)
class Plan:
    """`steps` in postfix order; `history` holds those of the earlier queries that they recall.

    An earlier query recalls only ones before it.
    """

    steps: tuple[Step, ...]
    history: Mapping[int, tuple[Step, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    mapped: tuple[tuple[str, str], ...] = ()
    translation: str = ""


def evaluate(plan: Plan, lookup: Lookup) -> BitMap:
    """The ordinals of the records that `plan` selects. The bitmap may be the lookup's own."""
    recalled: dict[int, BitMap] = {}
    for number in sorted(plan.history):
        recalled[number] = _run(plan.history[number], lookup, recalled)
    return _run(plan.steps, lookup, recalled)


def find(leaf: Leaf, lookup: Lookup) -> BitMap:
    """The records of one leaf."""
    atoms = leaf.atoms
    if len(atoms) == 1:
        return lookup.find(atoms[0])
    if atoms:
        return union([lookup.find(atom) for atom in atoms])
    if leaf.days is not None:
        return lookup.dated(*leaf.days)
    if leaf.near is not None:
        return lookup.near(leaf.near)
    return BitMap(range(lookup.size)) if leaf.everything else BitMap()


def union(bitmaps: Sequence[BitMap]) -> BitMap:
    """All of them together; empty when there are none."""
    return BitMap.union(*bitmaps) if bitmaps else BitMap()


_Operand = Leaf | BitMap


@dataclass(slots=True)
class _Chain:
    """Operands of one AND or OR, gathered before any is looked up."""

    operator: Operator
    operands: list[_Operand]


def _run(steps: Iterable[Step], lookup: Lookup, recalled: Mapping[int, BitMap]) -> BitMap:
    stack: list[_Operand | _Chain] = []
    for step in steps:
        if isinstance(step, Leaf):
            stack.append(step)
        elif isinstance(step, Recall):
            stack.append(recalled[step.number])
        elif step is Operator.COMPLEMENT:
            found = _value(stack.pop(), lookup)
            stack.append(BitMap(range(lookup.size)) - found)
        elif step is Operator.NOT:
            without = stack.pop()
            found = _value(stack.pop(), lookup)
            stack.append(found - _value(without, lookup) if found else found)
        else:
            right, left = stack.pop(), stack[-1]
            if isinstance(left, _Chain) or isinstance(right, _Chain):
                stack[-1] = _chain(step, left, right, lookup)
            else:
                stack[-1] = _Chain(step, [left, right])
    return _value(stack[0], lookup)


def _chain(
    operator: Operator, left: _Operand | _Chain, right: _Operand | _Chain, lookup: Lookup
) -> _Chain:
    """Neither AND nor OR minds order, so the longer chain takes in the shorter one."""
    if not isinstance(left, _Chain) or left.operator is not operator:
        left, right = right, left
    if not isinstance(left, _Chain) or left.operator is not operator:
        return _Chain(operator, [_settled(left, lookup), _settled(right, lookup)])
    if not isinstance(right, _Chain):
        left.operands.append(right)
    elif right.operator is not operator:
        left.operands.append(_value(right, lookup))
    else:
        if len(left.operands) < len(right.operands):
            left, right = right, left
        left.operands += right.operands
    return left


def _settled(operand: _Operand | _Chain, lookup: Lookup) -> _Operand:
    return _value(operand, lookup) if isinstance(operand, _Chain) else operand


def _value(operand: _Operand | _Chain, lookup: Lookup) -> BitMap:
    if isinstance(operand, BitMap):
        return operand
    if isinstance(operand, Leaf):
        return find(operand, lookup)
    if operand.operator is Operator.OR:
        return union([o if isinstance(o, BitMap) else find(o, lookup) for o in operand.operands])
    return _intersect(operand.operands, lookup)


def _intersect(operands: list[_Operand], lookup: Lookup) -> BitMap:
    """What is at hand first, leaves by rising cost after it, until nothing is left."""
    ready = [o for o in operands if isinstance(o, BitMap)]
    leaves = [o for o in operands if isinstance(o, Leaf)]
    if len(ready) > 1:
        ready.sort(key=len)
    if len(leaves) > 1:
        leaves.sort(key=_cost)
    found = ready[0] if ready else find(leaves.pop(0), lookup)
    for other in ready[1:]:
        if not found:
            return found
        found = found & other
    for leaf in leaves:
        if not found:
            return found
        found = found & find(leaf, lookup)
    return found


def _cost(leaf: Leaf) -> int:
    if leaf.near is not None:
        return 1_000_000
    cost = 0
    for atom in leaf.atoms:
        words = atom.words
        cost += 1 if len(words) == 1 else 2
        if words and words[-1][-1:] == "*":
            cost += 100
    return cost


def ranking_atoms(steps: Sequence[Step]) -> Iterator[Atom]:
    """The text atoms that make a record relevant: all that no NOT governs, each once.

    Of a leaf over whole values it is the first value, looked for in the text column of the same.
    """
    seen: set[Atom] = set()
    positive = [True]
    for step in reversed(steps):
        wanted = positive.pop()
        if isinstance(step, Operator):
            if step is Operator.COMPLEMENT:
                positive.append(False)
            else:
                positive += [wanted, wanted and step is not Operator.NOT]
        elif isinstance(step, Leaf) and wanted:
            for atom in _ranked(step):
                if atom not in seen:
                    seen.add(atom)
                    yield atom


def _ranked(leaf: Leaf) -> Iterator[Atom]:
    if leaf.near is not None:
        for group in leaf.near.groups:
            yield from (Atom(leaf.near.stores, (word,)) for word in group)
    for atom in leaf.atoms:
        if not any(store.endswith("_exact") for store in atom.stores):
            if atom.stores != ("id",):
                yield atom
        elif atom is leaf.atoms[0]:
            text = tuple(" ".join(atom.words).split())
            stores = tuple(dict.fromkeys(owner(s) for s in atom.stores if owner(s) in RANKED))
            if stores and text and text[-1] != "*":
                yield Atom(stores, text)


RANKED = frozenset({"mesh", "publication_types", "chemicals", "authors", "journal", "keywords"})
"""Text columns that whole values are ranked by."""


def render(steps: Sequence[Step], recalled: Mapping[int, str] | None = None) -> str:
    """The query as PubMed writes it: fields spelt out, parentheses where order needs them."""
    stack: list[tuple[str | deque[str], Operator | None]] = []  # one operand is a str
    for step in steps:
        if isinstance(step, Leaf):
            stack.append((step.label, None))
        elif isinstance(step, Recall):
            stack.append(((recalled or {}).get(step.number, f"#{step.number}"), None))
        elif step is Operator.COMPLEMENT:
            inner = _parts(*stack.pop())
            inner.appendleft("all[sb] NOT ")
            stack.append((inner, Operator.NOT))
        else:
            right, right_operator = stack.pop()
            left, left_operator = stack[-1]
            if left_operator is not step or isinstance(left, str):
                left = _parts(left, left_operator)
                stack[-1] = left, step
            if isinstance(right, str):
                left.append(_JOINS[step])
                left.append(right)
                continue
            kept = right_operator is step and step is not Operator.NOT
            wrap(right, right_operator is not None and not kept)
            stack[-1] = concatenate(left, _JOINS[step], right), step
    return "".join(stack[0][0])


_JOINS = {operator: f" {operator.value} " for operator in Operator}


def _parts(text: str | deque[str], operator: Operator | None) -> deque[str]:
    """`text` to add to, in parentheses if an `operator` made it."""
    if isinstance(text, str):
        return deque((text,))
    wrap(text, operator is not None)
    return text


def wrap(text: deque[str], needed: bool) -> None:
    """Put parentheses around `text` if `needed`."""
    if needed:
        text.appendleft("(")
        text.append(")")


def concatenate(left: deque[str], middle: str, right: deque[str]) -> deque[str]:
    """One text of three; the shorter side moves: no shape of tree costs more than n log n."""
    if len(left) >= len(right):
        left.append(middle)
        left.extend(right)
        return left
    right.appendleft(middle)
    right.extendleft(reversed(left))
    return right
