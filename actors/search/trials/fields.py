"""The fields of a study record by piece name and by path, and how to read them from a study.

Source: https://clinicaltrials.gov/data-api/about-api/study-data-structure
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from actors.search.trials.enums import ENUMS
from actors.search.trials.structure_protocol import PROTOCOL
from actors.search.trials.structure_results import RESULTS

TEXT_TYPES = frozenset({"text", "markup"})
NUMBER_TYPES = frozenset({"integer", "age"})


@dataclass(frozen=True, slots=True)
class Field:
    """One node of the study structure.

    `type` is "" for a structure; `many` marks a list, `repeated` a list here or above; `children`
    and `leaves` are pieces in order (of a leaf: none, itself).
    """

    name: str
    piece: str
    type: str
    path: tuple[str, ...]
    many: bool
    repeated: bool
    children: tuple[str, ...]
    leaves: tuple[str, ...]

    @property
    def dotted(self) -> str:
        """The path as the service writes it: `protocolSection.designModule.phases`."""
        return ".".join(self.path)

    @property
    def is_enum(self) -> bool:
        """True when the values are those of an enumeration named `type`."""
        return self.type in ENUMS


class _Draft:
    def __init__(self, line: str, parents: "list[_Draft]") -> None:
        name, self.piece, *rest = line.split()
        self.type = rest[0] if rest else ""
        self.many = name.endswith("[]")
        self.name = name.removesuffix("[]")
        self.path = (*(p.name for p in parents), self.name)
        self.repeated = self.many or any(p.many for p in parents)
        self.children: list[str] = []
        self.leaves: list[str] = [] if rest == [] else [self.piece]


def _read(table: str) -> Iterator[Field]:
    stack: list[_Draft] = []
    drafts: list[_Draft] = []
    for line in table.splitlines():
        depth = len(line) - len(line.lstrip(" "))
        del stack[depth:]
        draft = _Draft(line, stack)
        if stack:
            stack[-1].children.append(draft.piece)
        if draft.type:
            for parent in stack:
                parent.leaves.append(draft.piece)
        stack.append(draft)
        drafts.append(draft)
    for d in drafts:
        yield Field(
            d.name,
            d.piece,
            d.type,
            d.path,
            d.many,
            d.repeated,
            tuple(d.children),
            tuple(d.leaves),
        )


FIELDS = MappingProxyType({field.piece: field for field in _read(PROTOCOL + RESULTS)})
"""Piece name -> field, parents before children, in the record's order."""

BY_PATH = MappingProxyType({field.dotted: field for field in FIELDS.values()})
"""Dotted path -> field."""

LEAVES = tuple(field for field in FIELDS.values() if field.type)
"""Fields that hold values, in the record's order."""

_ANCESTORS = {
    field.piece: tuple(
        BY_PATH[".".join(field.path[:depth])].piece for depth in range(1, len(field.path))
    )
    for field in FIELDS.values()
}

ROOTS = tuple(field.piece for field in FIELDS.values() if len(field.path) == 1)
"""The sections of a record."""


def find_field(name: str) -> Field | None:
    """The field with this piece name or dotted path."""
    return FIELDS.get(name) or BY_PATH.get(name)


def ancestors(field: Field) -> tuple[str, ...]:
    """The pieces of the structures around `field`, outermost first."""
    return _ANCESTORS[field.piece]


def values(record: Any, path: tuple[str, ...]) -> list[Any]:
    """All values at `path` in a study (or part of one), lists flattened, in order."""
    found = [record]
    for name in path:
        below: list[Any] = []
        for node in found:
            value = node.get(name) if isinstance(node, dict) else None
            if isinstance(value, list):
                below.extend(value)
            elif value is not None:
                below.append(value)
        if not below:
            return []
        found = below
    return found


def walk(record: Any) -> Iterator[tuple[Field, list[Any]]]:
    """(field, its items) of every field, structures too, that `record` holds.

    One pass over what is there: cheaper than `values` for each of the 300 leaves.
    """
    stack = [(piece, record) for piece in reversed(ROOTS)]
    gathered: dict[str, list[Any]] = {}
    while stack:
        piece, parent = stack.pop()
        field = FIELDS[piece]
        value = parent.get(field.name) if isinstance(parent, dict) else None
        if value is None or value in ("", [], {}):
            continue
        items = value if isinstance(value, list) else [value]
        gathered.setdefault(piece, []).extend(items)
        for item in reversed(items):
            stack.extend((child, item) for child in reversed(field.children))
    return ((FIELDS[piece], items) for piece, items in gathered.items())
