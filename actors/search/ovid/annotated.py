"""Annotated query trees of the SIGIR 2017 systematic review collection to query trees.

A node is `{"grouping": "and" | "or" | "not", "queries": [leaf...], "children": [node...]}`, a leaf
`{"query_string", "fields", "exploded", "truncated"}`; fields are `title`, `text` (the abstract),
`mesh_heading`, `author`. Source: Scells et al., "A Test Collection for Evaluating Retrieval of
Studies for Inclusion in Systematic Reviews", SIGIR 2017.
"""

from collections.abc import Mapping
from typing import Any

from actors.search.ovid.fields import targets
from actors.search.ovid.words import patterns
from actors.search.pubmed.fields import MESH
from actors.search.pubmed.tree import Near, Node, Operator, Term, Tree
from actors.search.text import words
from actors.search.types import QueryError

_CODES = {"title": "ti", "text": "ab", "author": "au"}
_OPERATORS = {"and": Operator.AND, "or": Operator.OR, "not": Operator.NOT}


def annotated_tree(node: Mapping[str, Any]) -> Tree | QueryError:
    """The tree of one annotated query; an error if it holds no term.

    Raises:
        ValueError: an unknown grouping or field.
    """
    out: list[Node] = []
    done: list[bool] = []
    waiting: list[tuple[Mapping[str, Any], bool]] = [(node, False)]
    while waiting:
        one, ready = waiting.pop()
        if ready:
            _join(one, out, done)
        elif "query_string" in one:
            before = len(out)
            _leaf(one, out)
            done.append(len(out) > before)
        else:
            if one.get("grouping") not in _OPERATORS:
                raise ValueError(f"grouping {one.get('grouping')!r} is none of and, or, not")
            waiting.append((one, True))
            operands = [*(one.get("queries") or ()), *(one.get("children") or ())]
            waiting += [(operand, False) for operand in reversed(operands)]
    if not out:
        return QueryError("the query holds nothing to search for", "", 0)
    return Tree(tuple(out))


def _join(one: Mapping[str, Any], out: list[Node], done: list[bool]) -> None:
    """Operands were put out one after the other; operators that join them go behind.

    `a b c OP OP` groups to the right; AND and OR do not mind. NOT takes everything after the first
    operand away from it: `a b c OR NOT`.
    """
    count = len(one.get("queries") or ()) + len(one.get("children") or ())
    filled = done[len(done) - count :]
    del done[len(done) - count :]
    operator = _OPERATORS[one["grouping"]]
    present = sum(filled)
    if operator is not Operator.NOT:
        out += [operator] * (present - 1)
    elif present:
        rest = present - filled[0]
        out += [Operator.OR] * (rest - 1)
        if rest:
            out.append(Operator.NOT if filled[0] else Operator.COMPLEMENT)
    done.append(present > 0)


def _leaf(leaf: Mapping[str, Any], out: list[Node]) -> None:
    text = str(leaf["query_string"])
    fields = list(leaf.get("fields") or ("title", "text"))
    unknown = [name for name in fields if name not in _CODES and name != "mesh_heading"]
    if unknown:
        raise ValueError(f"field {unknown[0]!r} is none of title, text, mesh_heading, author")
    count = 0
    if "mesh_heading" in fields:
        name, _, qualifier = text.partition("/")
        if found := tuple(words(name)):
            if leaf.get("truncated"):
                found = (*found[:-1], found[-1] + "*")
            explode = bool(leaf.get("exploded"))
            out.append(Term(text, (found,), 0, MESH, True, explode, " ".join(words(qualifier))))
            count += 1
    codes = tuple(_CODES[name] for name in fields if name in _CODES)
    spelt = patterns(text)[0]
    if leaf.get("truncated") and spelt and not spelt[-1].endswith("*"):
        spelt = (*spelt[:-1], spelt[-1] + "*")
    for target in targets(codes)[0] if codes and spelt else ():
        if target.field.kind == "text" and len(spelt) > 1:
            out.append(Near(text, tuple((w,) for w in spelt), None, 0, target.field))
        else:
            out.append(Term(text, (spelt,), 0, target.field, target.field.kind != "text"))
        count += 1
    out += [Operator.OR] * (count - 1)
