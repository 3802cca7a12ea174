"""What operators around a leaf say about it: area, coverage, expansion, document, bias, sign."""

from collections.abc import Iterator
from typing import NamedTuple

from actors.search.trials.essie import LEAVES, And, Context, Expression, Node, Not, Or


class Scope(NamedTuple):
    """How a leaf is read: `tilts` are TILT's fields around it, `positive` is not under NOT."""

    area: str
    coverage: str = "Contains"
    expansion: str = "Relaxation"
    document: str = "Study"
    tilts: tuple[str, ...] = ()
    positive: bool = True


def _inner(scope: Scope, node: Context) -> Scope:
    match node.operator:
        case "AREA":
            return scope._replace(area=node.value)
        case "COVERAGE":
            return scope._replace(coverage=node.value)
        case "EXPANSION":
            return scope._replace(expansion=node.value)
        case "SEARCH":
            return scope._replace(document=node.value)
        case _:
            return scope._replace(tilts=(*scope.tilts, node.value))


def scopes(expression: Expression, area: str) -> list[Scope]:
    """The scope around every node, in the expression's order; an operator's is that outside it."""
    found: list[Scope] = []
    todo = [Scope(area)]
    for node in reversed(expression.nodes):
        scope = todo.pop()
        found.append(scope)
        match node:
            case And() | Or():
                todo.extend([scope] * node.arity)
            case Not():
                todo.append(scope._replace(positive=not scope.positive))
            case Context():
                todo.append(_inner(scope, node))
    found.reverse()
    return found


def scoped_leaves(expression: Expression, area: str) -> Iterator[tuple[int, Node, Scope]]:
    """(place, leaf, scope) of every leaf."""
    for place, (node, scope) in enumerate(
        zip(expression.nodes, scopes(expression, area), strict=True)
    ):
        if isinstance(node, LEAVES):
            yield place, node, scope
