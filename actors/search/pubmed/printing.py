"""Tree to PubMed query: `parse(write(tree))` is `tree` again, for every tree that `parse` gives."""

from collections import deque
from collections.abc import Iterable

from actors.search.pubmed.fields import SHORT_TAGS, Field
from actors.search.pubmed.plan import concatenate, wrap
from actors.search.pubmed.tree import DateRange, History, Ids, Near, Node, Operator, Term


def write(nodes: Iterable[Node]) -> str:
    """The query in full: a tag wherever one stood, an operator between all operands."""
    stack: list[tuple[deque[str], bool]] = []  # text, and whether it is more than one operand
    for node in nodes:
        if not isinstance(node, Operator):
            stack.append((deque((_leaf(node),)), False))
        elif node is Operator.COMPLEMENT:
            text, compound = stack.pop()
            wrap(text, compound)
            text.appendleft("NOT ")
            stack.append((text, True))
        else:
            right, compound = stack.pop()
            wrap(right, compound)
            left, _ = stack.pop()
            stack.append((concatenate(left, f" {node.value} ", right), True))
    text, compound = stack[0]
    query = "".join(text)
    return query if compound or not query.replace(" ", "").isdigit() else f"({query})"


def _leaf(node: Term | Near | DateRange | Ids | History) -> str:
    if isinstance(node, History):
        return f"#{node.number}"
    if isinstance(node, Ids):
        return f'"{" ".join(node.ids)}"[uid]'
    if isinstance(node, Near):
        words = " ".join(group[0] for group in node.groups)
        return f'"{words}"[{SHORT_TAGS[node.field]}:~{node.slop}]'
    if isinstance(node, DateRange):
        return _dates(node)
    if node.quoted:
        text = " ".join(node.pieces[0])
    else:
        text = " ".join("-".join(piece) for piece in node.pieces)
    if node.qualifier:
        text = f"{text}/{node.qualifier}"
    return f'"{text}"{_tag(node)}' if node.quoted else f"{text}{_tag(node)}"


def _tag(term: Term) -> str:
    if term.field is None:
        return ""
    return f"[{SHORT_TAGS[term.field]}{'' if term.explode else ':noexp'}]"


def _dates(node: DateRange) -> str:
    tag = SHORT_TAGS[node.field] if isinstance(node.field, Field) else "dp"
    if node.last is not None:
        return f'"last {node.last[0]} {node.last[1]}s"[{tag}]'
    if node.start is None or node.end is None:
        return f"undated[{tag}]"
    days = (day.isoformat().replace("-", "/") for day in (node.start, node.end))
    return f"{':'.join(days)}[{tag}]"
