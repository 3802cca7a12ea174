"""Tree to plan: which values of the index each term means, with PubMed's warnings.

Warnings carry the names E-utilities give them: `PhraseNotFound`, `QuotedPhraseNotFound`,
`FieldNotFound`, `PhraseIgnored`, `OutputMessage`, then a colon.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from actors.search.lookup import Vocabulary
from actors.search.mesh import Mesh
from actors.search.pubmed.dates import back
from actors.search.pubmed.fields import DATE, UID, owner
from actors.search.pubmed.leaves import MAX_EXPANSIONS
from actors.search.pubmed.plan import Leaf, Plan, Recall, Step, render
from actors.search.pubmed.reading import Reader, Reading
from actors.search.pubmed.tree import DateRange, History, Ids, Near, Operand, Operator, Term, Tree
from actors.search.text import words
from actors.search.types import QueryError

__all__ = ["MAX_EXPANSIONS", "Translator"]

OPEN_END = date(3000, 1, 1)
"""PubMed writes any later end of a range as 3000/12/12."""

_CACHED_TERMS = 20_000
_CACHED_CHARACTERS = 200
_LONGEST_RECALL = 10_000  # characters of an earlier query that a translation repeats


@dataclass(slots=True)
class Translator:
    """Translates for one vocabulary, one choice of searchable `fields`, mapping on or off.

    `fields` None: all that the vocabulary has. `most_expansions` bounds a truncated word; None
    leaves it open, as Ovid does. What terms mean is kept, so a translator is worth keeping.
    """

    vocabulary: Vocabulary
    mesh: Mesh | None = None
    fields: Sequence[str] | None = None
    mapping: bool = True
    most_expansions: int | None = MAX_EXPANSIONS
    _reader: Reader = field(init=False, repr=False)
    _readings: dict[tuple[object, ...], Reading] = field(default_factory=dict, repr=False)
    _known: dict[int, tuple[Operand, Reading]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        hidden: frozenset[str] = frozenset()
        if self.fields is not None:
            hidden = frozenset(
                store
                for store in self.vocabulary.stores
                if owner(store) not in self.fields and store != UID.stores[0]
            )
        self._reader = Reader(
            self.vocabulary, self.mesh, hidden, self.mapping, self.most_expansions
        )

    def plan(
        self, tree: Tree, query: str, today: date, history: Sequence[Tree | QueryError] = ()
    ) -> Plan | QueryError:
        """The plan of `tree`, parsed from `query`; `history` holds the earlier queries' trees."""
        needed = _recalled(tree, history)
        if isinstance(needed, History):
            return _unknown_entry(needed, query, history)
        warnings = dict.fromkeys(tree.warnings)
        mapped: dict[tuple[str, str], None] = {}
        earlier: dict[int, tuple[Step, ...]] = {}
        for number in needed:
            entry = history[number - 1]
            assert isinstance(entry, Tree)
            earlier[number] = self._steps(entry, today, warnings, mapped)
            if not earlier[number]:
                return QueryError(f"entry #{number} of the history is blank", query)
        steps = self._steps(tree, today, warnings, mapped)
        if not steps:
            position = tree.position
            if position is None:
                position = next(n.position for n in tree.nodes if not isinstance(n, Operator))
            message = "the query is blank: it holds only words that are not searched"
            return QueryError(message, query, position)
        texts: dict[int, str] = {}
        for number in sorted(earlier):
            text = render(earlier[number], texts)
            if len(text) > _LONGEST_RECALL:
                text = f"#{number}"
            texts[number] = f"({text})" if len(earlier[number]) > 1 else text
        return Plan(steps, earlier, tuple(warnings), tuple(mapped), render(steps, texts))

    def _steps(
        self,
        tree: Tree,
        today: date,
        warnings: dict[str, None],
        mapped: dict[tuple[str, str], None],
    ) -> tuple[Step, ...]:
        """Steps of `tree`, without what turned out to hold nothing; () when all of it did."""
        steps: list[Step | None] = []
        absent = False
        known = self._known
        for node in tree.nodes:
            if isinstance(node, Operator):
                steps.append(node)
                continue
            entry = known.get(id(node))
            reading = entry[1] if entry is not None else self._reading(node, today)
            if reading.warnings:
                warnings.update(dict.fromkeys(reading.warnings))
            if reading.mapped:
                mapped.update(dict.fromkeys(reading.mapped))
            if reading.steps:
                steps += reading.steps
            else:
                steps.append(None)
                absent = True
        return tuple(_present(steps) if absent else steps)  # type: ignore[arg-type]

    def _reading(self, node: Operand, today: date) -> Reading:
        """What an operand means. Parsers share nodes: what one means is found by its identity."""
        if isinstance(node, History):
            return Reading((Recall(node.number),))
        if isinstance(node, DateRange):
            return self._date(node, today)
        reading = self._read(node)
        if not isinstance(node, Ids) and len(node.text) <= _CACHED_CHARACTERS:
            if len(self._known) >= _CACHED_TERMS:
                self._known.clear()
            self._known[id(node)] = node, reading
        return reading

    def _read(self, node: Term | Near | Ids) -> Reading:
        if isinstance(node, Ids):
            return self._reader.ids(node.ids)
        if len(node.text) > _CACHED_CHARACTERS:
            return self._reader.read(node)
        # A field's hash is slow, its label is not; the columns tell Ovid's lists of fields apart.
        found = node.field
        key = (node.text, found and found.label, found and found.stores, _sense(node))
        reading = self._readings.get(key)
        if reading is None:
            if len(self._readings) >= _CACHED_TERMS:
                self._readings.clear()
            reading = self._readings[key] = self._reader.read(node)
        return reading

    def _date(self, node: DateRange, today: date) -> Reading:
        found = node.field or DATE
        start, end = node.start, node.end
        if node.last is not None:
            start, end = back(today, *node.last), date.max
        if start is None or end is None:
            leaf = Leaf(f'"{_plain(node.text)}"[{found.label}]')
            return Reading((leaf,), (f"PhraseNotFound: {node.text}",))
        first = f"{start:%Y/%m/%d}".zfill(10)
        last = "3000/12/12" if end >= OPEN_END else f"{end:%Y/%m/%d}".zfill(10)
        label = f"{first}:{last}[{found.label}]"
        return Reading((Leaf(label, days=(found.stores[0], start, end)),))


def _sense(node: Term | Near) -> tuple[object, ...]:
    if isinstance(node, Near):
        return node.groups, node.slop
    return node.pieces, node.quoted, node.explode, node.qualifier


def _plain(text: str) -> str:
    """What was typed before the tag, without quotation marks."""
    return " ".join(words(text.partition("[")[0]))


def _present(steps: Sequence[Step | None]) -> list[Step]:
    """Steps without absent operands (None); the operator of an absent one goes with it."""
    out: list[Step] = []
    present: list[bool] = []
    for step in steps:
        if not isinstance(step, Operator):
            present.append(step is not None)
            if step is not None:
                out.append(step)
        elif step is Operator.COMPLEMENT:
            if present[-1]:
                out.append(step)
        else:
            right, left = present.pop(), present.pop()
            if left and right:
                out.append(step)
            elif right and step is Operator.NOT:
                out.append(Operator.COMPLEMENT)
            present.append(left or right)
    return out


def _recalled(tree: Tree, history: Sequence[Tree | QueryError]) -> list[int] | History:
    """Numbers of the earlier queries that `tree` needs, or the entry that does not exist."""
    needed: set[int] = set()
    waiting: list[tuple[Tree, int]] = [(tree, len(history) + 1)]
    while waiting:
        current, own = waiting.pop()
        for node in current.nodes:
            if not isinstance(node, History):
                continue
            entry = history[node.number - 1] if 1 <= node.number < own else None
            if not isinstance(entry, Tree):
                return node if current is tree else History(node.number, 0)
            if node.number in needed:
                continue
            needed.add(node.number)
            waiting.append((entry, node.number))
    return sorted(needed)


def _unknown_entry(node: History, query: str, history: Sequence[Tree | QueryError]) -> QueryError:
    if 1 <= node.number <= len(history) and isinstance(
        error := history[node.number - 1], QueryError
    ):
        message = f"entry #{node.number} of the history cannot be run: {error.message}"
    else:
        message = f"there is no entry #{node.number} in the history, which has {len(history)}"
    return QueryError(message, query, node.position)
