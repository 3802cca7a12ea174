"""A plan as a query string of a Lucene-like or an FTS5 grammar, fully parenthesised.

What a grammar cannot say (dates, proximity, cut truncations) raises `InexpressibleError`: such a
query is left out of the comparison and counted.
"""

from collections.abc import Callable, Container, Sequence

from actors.search.lookup import Atom
from actors.search.pubmed.plan import Leaf, Plan, Step
from actors.search.pubmed.tree import Operator

GAP = "_"
"""Stands between the values of a column, so that no phrase crosses them."""
MAX_NESTING = 200


class InexpressibleError(ValueError):
    """The grammar has no way to say this."""


def one_token(value: str) -> str:
    """A whole value as one token: blanks become underscores, which are in no word."""
    return value.replace(" ", "_")


def write(plan: Plan, term: Callable[[Atom], str], binary_not: str, columns: Container[str]) -> str:
    """The query string. `binary_not` is a template with {left} and {right}; `columns` are there."""
    if plan.history:
        raise InexpressibleError("history")
    stack: list[tuple[str, int]] = []  # text, nesting
    for step in flat(plan.steps):
        if isinstance(step, Leaf):
            stack.append((_leaf(step, term, columns), 1))
            continue
        operator, count = step
        parts = stack[-count:]
        del stack[-count:]
        depth = 1 + max(nesting for _, nesting in parts)
        if depth > MAX_NESTING:
            raise InexpressibleError("nesting")
        texts = [text for text, _ in parts]
        if operator is Operator.NOT:
            stack.append((binary_not.format(left=texts[0], right=texts[1]), depth))
        else:
            stack.append((f"({f' {operator.value} '.join(texts)})", depth))
    return stack[0][0]


def flat(steps: Sequence[Step]) -> list[Leaf | tuple[Operator, int]]:
    """The steps with runs of one operator joined into one of many operands, as a person would."""
    stack: list[tuple[list[Leaf | tuple[Operator, int]], Operator | None, int]] = []
    for step in steps:
        if isinstance(step, Leaf):
            stack.append(([step], None, 1))
        elif not isinstance(step, Operator) or step is Operator.COMPLEMENT:
            raise InexpressibleError("a NOT with nothing before it")
        else:
            right, left = stack.pop(), stack.pop()
            out: list[Leaf | tuple[Operator, int]] = []
            count = 0
            for body, operator, operands in (left, right):
                if operator is step and step is not Operator.NOT:
                    out += body[:-1]
                    count += operands
                else:
                    out += body
                    count += 1
            out.append((step, count))
            stack.append((out, step, count))
    return stack[0][0]


def _leaf(leaf: Leaf, term: Callable[[Atom], str], columns: Container[str]) -> str:
    if leaf.everything or leaf.near is not None or leaf.days is not None:
        raise InexpressibleError("proximity" if leaf.near is not None else "a date")
    if not leaf.atoms:
        raise InexpressibleError("a leaf of no terms")
    for atom in leaf.atoms:
        if atom.until or atom.slop is not None or not atom.stores or not atom.words:
            raise InexpressibleError("a truncation that was cut" if atom.until else leaf.label)
        lacking = [store for store in atom.stores if store not in columns]
        if lacking:
            raise InexpressibleError(f"column {lacking[0]}")
        if any("*" in word for word in atom.words[:-1]):
            raise InexpressibleError(leaf.label)
    terms = [term(atom) for atom in leaf.atoms]
    return terms[0] if len(terms) == 1 else f"({' OR '.join(terms)})"


def fts5_term(atom: Atom) -> str:
    """`{title abstract} : "breast cancer"`, `... "neopl" *`."""
    *head, last = atom.words
    columns = "{" + " ".join(atom.stores) + "}"
    if not exact(atom):
        star = " *" if last.endswith("*") else ""
        return f'({columns} : "{" ".join([*head, last.rstrip("*")])}"{star})'
    value = one_token(" ".join(atom.words))
    if value.endswith("_*"):
        return f'({columns} : ("{value[:-2]}" OR "{value[:-1]}" *))'
    star = " *" if value.endswith("*") else ""
    return f'({columns} : "{value.rstrip("*")}"{star})'


def lucene_term(atom: Atom) -> str:
    """`(title:"breast cancer" OR abstract:"breast cancer")`."""
    *head, last = atom.words
    if head and last.endswith("*") and not exact(atom):
        raise InexpressibleError("a truncated phrase")
    if exact(atom):
        value = one_token(" ".join(atom.words))
        bodies = [value[:-2], value] if value.endswith("_*") else [value]
    else:
        bodies = [f'"{" ".join(atom.words)}"' if head else last]
    parts = [f"{store}:{body}" for store in atom.stores for body in bodies]
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


def exact(atom: Atom) -> bool:
    """True for columns of whole values."""
    return all(store.endswith("_exact") or store == "id" for store in atom.stores)
