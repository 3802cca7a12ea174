"""The MeSH vocabulary: headings, their entry terms and the trees that searches explode along.

Read from NLM's descriptor XML (`desc2026.xml`, `.gz` too; https://www.nlm.nih.gov/mesh) and, for
other than the built-in subheadings, its qualifier XML (`qual2026.xml`). Names are compared as the
index normalises whole values: `words()` joined by spaces.
"""

import gzip
import json
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple
from xml.etree import ElementTree

from actors.search.mesh_qualifiers import ABBREVIATIONS, NARROWER
from actors.search.text import words

FORMAT = "seekray-mesh-1"


class Descriptor(NamedTuple):
    """One heading as NLM writes it. `kind` is the descriptor class: 2 is a publication type."""

    name: str
    kind: int
    trees: tuple[str, ...]
    entries: tuple[str, ...]


class Qualifier(NamedTuple):
    """One subheading with its two-letter abbreviation."""

    name: str
    abbreviation: str
    trees: tuple[str, ...]


def normal(name: str) -> str:
    """A heading as whole values are compared: `Diabetes Mellitus, Type 2` loses its comma."""
    return " ".join(words(name))


@dataclass(slots=True)
class Mesh:
    """Headings by any of their names, and what lies below them. All answers are normalised."""

    descriptors: tuple[Descriptor, ...]
    qualifiers: tuple[Qualifier, ...] = ()
    _headings: dict[str, str] = field(init=False, repr=False, compare=False)
    _beginnings: frozenset[str] = field(init=False, repr=False, compare=False)
    _below: "_Forest" = field(init=False, repr=False, compare=False)
    _qualifiers_below: "_Forest | None" = field(init=False, repr=False, compare=False)
    _abbreviations: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names: dict[str, str] = {}
        for descriptor in self.descriptors:
            heading = normal(descriptor.name)
            for entry in descriptor.entries:
                names.setdefault(normal(entry), heading)
        headings = {normal(d.name): normal(d.name) for d in self.descriptors}
        self._headings = names | headings  # a heading wins over another's entry term
        pairs = (name.split(" ", 2)[:2] for name in self._headings)
        self._beginnings = frozenset(" ".join(pair) for pair in pairs if len(pair) > 1)
        self._below = _Forest((normal(d.name), d.trees) for d in self.descriptors)
        self._qualifiers_below = (
            _Forest((normal(q.name), q.trees) for q in self.qualifiers) if self.qualifiers else None
        )
        self._abbreviations = {q.abbreviation.lower(): normal(q.name) for q in self.qualifiers}

    def heading(self, name: str) -> str | None:
        """The heading that `name`, normalised, is or is an entry term of."""
        return self._headings.get(name)

    def may_begin(self, beginning: str) -> bool:
        """Whether any name of two words or more starts with these two words."""
        return beginning in self._beginnings

    def narrower(self, heading: str) -> tuple[str, ...]:
        """`heading` and all headings below it in any tree, `heading` first."""
        return self._below.under(heading)

    def qualifier(self, name: str) -> str:
        """The subheading that `name` abbreviates, else `name` itself."""
        return self._abbreviations.get(name) or qualifier(name)

    def narrower_qualifiers(self, name: str) -> tuple[str, ...]:
        """The subheading `name` and those below it, `name` first."""
        if self._qualifiers_below is None:
            return narrower_qualifiers(name)
        return self._qualifiers_below.under(name)

    def save(self, path: str | Path) -> None:
        """Write a compact file that `load_mesh` reads in a fraction of the XML's time."""
        data = {"format": FORMAT, "descriptors": self.descriptors, "qualifiers": self.qualifiers}
        with gzip.open(path, "wt", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False, separators=(",", ":"))


def qualifier(name: str) -> str:
    """The subheading that a two-letter `name` abbreviates, else `name` itself."""
    return ABBREVIATIONS.get(name, name)


def narrower_qualifiers(name: str) -> tuple[str, ...]:
    """By the built-in families of subheadings: `name` and those below it, `name` first."""
    found = {name: None}
    waiting = [name]
    while waiting:
        for below in NARROWER.get(waiting.pop(), ()):
            if below not in found:
                found[below] = None
                waiting.append(below)
    return tuple(found)


class _Forest:
    """Names by tree number: what lies below one is a run of the sorted numbers."""

    def __init__(self, nodes: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        self.trees = dict(nodes)
        places = sorted((tree, name) for name, trees in self.trees.items() for tree in trees)
        self.numbers = [tree for tree, _ in places]
        self.names = [name for _, name in places]

    def under(self, name: str) -> tuple[str, ...]:
        found = {name: None}
        for tree in self.trees.get(name, ()):
            first = bisect_left(self.numbers, f"{tree}.")
            last = bisect_left(self.numbers, f"{tree}/")  # "/" is the character after "."
            found.update(dict.fromkeys(self.names[first:last]))
        return tuple(found)


def load_mesh(path: str | Path, qualifiers: str | Path | None = None) -> Mesh:
    """The vocabulary in a descriptor XML or a file that `Mesh.save` wrote, either gzipped or not.

    OSError when a file cannot be read, ValueError naming it when it is something else.
    """
    try:
        with _open(path) as file:
            start = file.read(1)
            file.seek(0)
            if start == b"{":
                return _saved(path, file)
            descriptors = tuple(_descriptors(file))
        found: tuple[Qualifier, ...] = ()
        if qualifiers is not None:
            path = qualifiers
            with _open(path) as file:
                found = tuple(_qualifiers(file))
    except (ElementTree.ParseError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is no whole file of XML: {error}; fetch it again") from error
    if not descriptors:
        raise ValueError(f"{path} holds no DescriptorRecord: give NLM's desc20NN.xml")
    if qualifiers is not None and not found:
        raise ValueError(f"{qualifiers} holds no QualifierRecord: give NLM's qual20NN.xml")
    return Mesh(descriptors, found)


def _open(path: str | Path) -> IO[bytes]:
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if zipped else open(path, "rb")  # type: ignore[return-value]


def _saved(path: str | Path, file: IO[bytes]) -> Mesh:
    try:
        data = json.load(file)
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}")
        return Mesh(
            tuple(Descriptor(n, k, tuple(t), tuple(e)) for n, k, t, e in data["descriptors"]),
            tuple(Qualifier(n, a, tuple(t)) for n, a, t in data["qualifiers"]),
        )
    except (ValueError, KeyError, TypeError, EOFError) as error:
        raise ValueError(
            f"{path} is no {FORMAT} file ({error}): wanted is NLM's descriptor XML, desc20NN.xml"
        ) from error


def _descriptors(file: IO[bytes]) -> Iterator[Descriptor]:
    for record in _records(file, "DescriptorRecord"):
        name = record.findtext("DescriptorName/String", "").strip()
        terms = (e.text or "" for e in record.iterfind("ConceptList/Concept/TermList/Term/String"))
        entries = tuple(dict.fromkeys(t.strip() for t in terms if t.strip() and t.strip() != name))
        if name:
            kind = record.get("DescriptorClass", "1")
            yield Descriptor(name, int(kind) if kind.isdigit() else 1, _trees(record), entries)


def _qualifiers(file: IO[bytes]) -> Iterator[Qualifier]:
    for record in _records(file, "QualifierRecord"):
        name = record.findtext("QualifierName/String", "").strip()
        place = "ConceptList/Concept/TermList/Term/Abbreviation"
        if name:
            yield Qualifier(name, record.findtext(place, "").strip(), _trees(record))


def _trees(record: ElementTree.Element) -> tuple[str, ...]:
    found = (e.text or "" for e in record.iterfind("TreeNumberList/TreeNumber"))
    return tuple(t.strip() for t in found if t.strip())


def _records(file: IO[bytes], tag: str) -> Iterator[ElementTree.Element]:
    """Each element named `tag`, one in memory at a time."""
    events = ElementTree.iterparse(file, events=("start", "end"))
    _, root = next(events)
    for event, element in events:
        if event == "end" and element.tag == tag:
            yield element
            root.clear()
