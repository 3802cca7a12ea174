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
from actors.search.pubmed.tree import DateRange, History, Ids, Near, Operator, Term, Tree
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
        steps: list[Step] = []
        present: list[bool] = []
        for node in tree.nodes:
            if isinstance(node, Operator):
                _join(node, steps, present)
                continue
            if isinstance(node, DateRange):
                steps.append(self._date(node, today, warnings))
            elif isinstance(node, History):
                steps.append(Recall(node.number))
            else:
                reading = self._read(node)
                steps += reading.steps
                if reading.warnings:
                    warnings.update(dict.fromkeys(reading.warnings))
                if reading.mapped:
                    mapped.update(dict.fromkeys(reading.mapped))
                present.append(bool(reading.steps))
                continue
            present.append(True)
        return tuple(steps)

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

    def _date(self, node: DateRange, today: date, warnings: dict[str, None]) -> Leaf:
        found = node.field or DATE
        start, end = node.start, node.end
        if node.last is not None:
            start, end = back(today, *node.last), date.max
        if start is None or end is None:
            warnings[f"PhraseNotFound: {node.text}"] = None
            return Leaf(f'"{_plain(node.text)}"[{found.label}]')
        first = f"{start:%Y/%m/%d}".zfill(10)
        last = "3000/12/12" if end >= OPEN_END else f"{end:%Y/%m/%d}".zfill(10)
        label = f"{first}:{last}[{found.label}]"
        return Leaf(label, days=(found.stores[0], start, end))


def _sense(node: Term | Near) -> tuple[object, ...]:
    if isinstance(node, Near):
        return node.groups, node.slop
    return node.pieces, node.quoted, node.explode, node.qualifier


def _plain(text: str) -> str:
    """What was typed before the tag, without quotation marks."""
    return " ".join(words(text.partition("[")[0]))


def _join(operator: Operator, steps: list[Step], present: list[bool]) -> None:
    """Write `operator` if its operands are there; what is absent takes it along."""
    if operator is Operator.COMPLEMENT:
        if present[-1]:
            steps.append(operator)
        return
    right, left = present.pop(), present.pop()
    if left and right:
        steps.append(operator)
    elif right and operator is Operator.NOT:
        steps.append(Operator.COMPLEMENT)
    present.append(left or right)


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
