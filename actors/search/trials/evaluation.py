"""Runs expressions over an index: the set of studies, and the relevance of each."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pyroaring import BitMap

from actors.search.index.postings import numbers_of
from actors.search.mesh import Mesh
from actors.search.trials.areas import Area, find_area
from actors.search.trials.context import Scope, scopes
from actors.search.trials.essie import (
    LEAVES,
    All,
    And,
    Context,
    Distance,
    EssieError,
    Expression,
    Missing,
    Node,
    Not,
    Range,
    Term,
)
from actors.search.trials.exact import Exact
from actors.search.trials.fields import FIELDS
from actors.search.trials.index import TrialsIndex
from actors.search.trials.lexical import normal
from actors.search.trials.matcher import Matcher, Sought
from actors.search.trials.sources import SIZE, Sources
from actors.search.trials.synonyms import Synonyms, Words

_TILTED = 0.5  # the score of a study without a value in TILT's field, or with the lowest


@dataclass(frozen=True, slots=True)
class Found:
    """The studies of an expression, and what of it counts for their order."""

    bits: BitMap
    counted: tuple["Counted", ...]


class Counted(NamedTuple):
    """A text leaf that counts for the order: `bits` are the documents that hold it."""

    sought: Sought
    scope: Scope
    bits: BitMap


class Evaluator:
    """Evaluates expressions over one index; safe for threads."""

    def __init__(self, index: TrialsIndex, mesh: Mesh | None = None) -> None:
        self.index = index
        self.synonyms = Synonyms(index.studies, mesh)
        self.matchers = {"Study": Matcher(index, self.synonyms)}
        if index.locations is not None:
            self.matchers["Location"] = Matcher(index, self.synonyms, "Location")
        self.exact = Exact(index)
        self.sources = Sources(index, self.exact)
        self._tilts: dict[str, np.ndarray] = {}

    def run(self, expression: Expression, area: str) -> Found:
        """The studies that `expression` finds, read in `area` where it names none.

        Raises EssieError with a position for names and values that the record does not have.
        """
        stack: list[BitMap] = []
        counted: list[Counted] = []
        around = scopes(expression, area)
        for place, (node, scope) in enumerate(zip(expression.nodes, around, strict=True)):
            try:
                if isinstance(node, LEAVES):
                    stack.append(self._leaf(node, scope, counted))
                elif isinstance(node, Not):
                    stack.append(self._universe(scope.document) - stack.pop())
                elif isinstance(node, Context):
                    self._context(node, scope, stack)
                else:
                    operands = [stack.pop() for _ in range(node.arity)]
                    combine = BitMap.intersection if isinstance(node, And) else BitMap.union
                    stack.append(combine(*operands))
            except EssieError as error:
                if error.position is None and expression.positions:
                    error.position = expression.positions[place]
                raise
        return Found(stack.pop(), tuple(counted))

    def relevance(self, found: Found) -> np.ndarray:
        """(studies,) float32: the sum over the leaves that a study holds, those under NOT aside."""
        total = np.zeros(self.index.size, dtype=np.float32)
        for sought, scope, bits in found.counted:
            hits = self.matchers[scope.document].score(sought)
            ordinals, scores = hits.ordinals, hits.scores
            if scope.expansion == "None":
                kept = np.isin(ordinals, numbers_of(bits), assume_unique=True)
                ordinals, scores = ordinals[kept], scores[kept]
            if scope.document == "Location":
                best = np.zeros(self.index.size, dtype=np.float32)
                np.maximum.at(best, self.index.parents[ordinals], scores)
                ordinals = np.flatnonzero(best).astype(np.uint32)
                scores = best[ordinals]
            for piece in scope.tilts:
                scores = scores * self._tilt(piece)[ordinals]
            total[ordinals] += scores
        return total

    def _universe(self, document: str) -> BitMap:
        return self.index.all_studies if document == "Study" else self.index.all_locations

    def _context(self, node: Context, outside: Scope, stack: list[BitMap]) -> None:
        """Check names; turn sites into their studies, or back, where the document changes."""
        if node.operator == "TILT":
            self._tilt(node.value)
        if node.operator == "SEARCH" and node.value != outside.document:
            bits = stack.pop()
            to_studies = outside.document == "Study"
            stack.append(self.index.parents_of(bits) if to_studies else self.index.sites_of(bits))

    def _leaf(self, node: Node, scope: Scope, counted: list[Counted]) -> BitMap:
        if isinstance(node, All):
            return self._universe(scope.document)
        name, sizes = scope.area.removesuffix(SIZE), scope.area.endswith(SIZE)
        area = self.area(name, scope.document)
        if sizes:
            return self.sources.size(name, node, scope.document)
        if isinstance(node, Missing):
            present = self.sources.present(area, scope.document)
            return self._universe(scope.document) - present
        if isinstance(node, Range):
            return self.sources.range(area, node, scope.document)
        if isinstance(node, Distance):
            return self.sources.distance(area, node, scope.document)
        assert isinstance(node, Term)
        own = self.sources.value(area, node, scope.document)
        if own is not None:
            return own
        return self._term(area, node, scope, counted)

    def area(self, name: str, document: str = "Study") -> Area:
        """The area or piece called `name`, cut to the pieces of `document`. Raises EssieError."""
        area = find_area(name)
        if area is None:
            raise EssieError(f"Unknown area name: `{name}`")
        return area if document == "Study" else self.sources.of_locations(area)

    def _term(self, area: Area, node: Term, scope: Scope, counted: list[Counted]) -> BitMap:
        matcher = self.matchers.get(scope.document)
        if matcher is None:
            return BitMap()
        parts: list[Words] = []
        for word in node.words:
            words = tuple(normal(word.text))
            if words:
                parts.append(words)
        quoted = any(word.quoted for word in node.words)
        sought = Sought(area, tuple(parts), quoted, scope.expansion, scope.coverage)
        bits = matcher.find(sought)
        if scope.expansion == "None":
            text = " ".join(word.text for word in node.words)
            bits = self.exact.kept(area, text, scope.coverage, bits, scope.document)
        if scope.positive:
            counted.append(Counted(sought, scope, bits))
        return bits

    def _tilt(self, piece: str) -> np.ndarray:
        """(studies,) float32 factor by the order of the values of `piece`."""
        if piece not in self._tilts:
            values = self.index.order_values(piece) if piece in FIELDS else None
            if values is None:
                raise EssieError(
                    f"Unknown area name: `{piece}`"
                    if piece not in FIELDS
                    else f"TILT needs a field of dates or numbers, `{piece}` is none"
                )
            known = np.flatnonzero(~np.isnan(values))
            _, ranks = np.unique(values[known], return_inverse=True)
            factor = np.full(len(values), _TILTED, dtype=np.float32)
            top = max(int(ranks.max(initial=0)), 1)
            factor[known] = _TILTED + (1 - _TILTED) * ranks / top
            self._tilts[piece] = factor
        return self._tilts[piece]
