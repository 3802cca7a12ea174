"""From passages to the text that is inserted, by the way that was decided on."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.realm.evidence.compress import compress
from pipelines.realm.evidence.packing import CoragPacker
from pipelines.realm.evidence.relevance import SentenceScorer
from pipelines.realm.evidence.texts import whole
from pipelines.realm.types import Integration, Passage


@dataclass(slots=True)
class IntegrationTotals:
    """What was taken in so far. Tokens are of whole passages as they would have been inserted
    (`fetched`), and of what was inserted (`kept`); `seconds` from asked to there, waits included.
    """

    calls: int = 0
    passages: int = 0
    kept_passages: int = 0
    fetched_tokens: int = 0
    kept_tokens: int = 0
    seconds: float = 0.0

    @property
    def kept_share(self) -> float:
        """Share of the fetched tokens that was inserted; 1 while nothing was fetched."""
        return self.kept_tokens / self.fetched_tokens if self.fetched_tokens else 1.0


class EvidenceIntegrator:
    """All three integrations; `totals` keeps account of each.

    `count` counts the tokens of a text (default: white space apart words). `threshold` goes before
    the scorer's own. Without a `packer` CORAG's packing is refused: `integrations` says what is to
    be had.
    """

    def __init__(
        self,
        scorer: SentenceScorer,
        *,
        threshold: float | None = None,
        packer: CoragPacker | None = None,
        count: Callable[[str], int] | None = None,
    ) -> None:
        self.threshold = scorer.threshold if threshold is None else threshold
        if not -1 <= self.threshold <= 1:
            raise ValueError(f"relevance threshold is {self.threshold}, must be from -1 to 1")
        self.totals = {integration: IntegrationTotals() for integration in Integration}
        self._scorer, self._packer = scorer, packer
        self._count = count or _words

    @property
    def integrations(self) -> frozenset[Integration]:
        """What `take_in` can do."""
        without = set() if self._packer else {Integration.CORAG}
        return frozenset(set(Integration) - without)

    async def take_in(
        self, question: str, query: str, passages: Sequence[Passage], integration: Integration
    ) -> tuple[str, tuple[str, ...]]:
        """See `Integrator`. Raises ValueError for CORAG's packing without a packer."""
        started = time.perf_counter()
        if integration is Integration.CORAG and self._packer is None:
            raise ValueError(
                "integration 'corag' needs a packer: give EvidenceIntegrator a CoragPacker, or "
                "leave 'corag' out of the actions"
            )
        everything = whole(passages)
        text = ""
        ids: tuple[str, ...] = ()
        if not everything:
            pass
        elif integration is Integration.WHOLE:
            text, ids = everything, tuple(passage.id for passage in passages)
        elif integration is Integration.SENTENCES:
            left = await compress(query or question, passages, self._scorer, self.threshold)
            text, ids = left.text, left.ids
        else:
            assert self._packer is not None
            text, ids = await self._packer.pack(query or question, passages)
        self._note(integration, passages, everything, text, ids, started)
        return text, ids

    def tokens(self, text: str) -> int:
        """Tokens of `text` as the totals count them."""
        return self._count(text)

    def _note(
        self,
        integration: Integration,
        passages: Sequence[Passage],
        everything: str,
        text: str,
        ids: Sequence[str],
        started: float,
    ) -> None:
        held = self.totals[integration]
        held.calls += 1
        held.passages += len(passages)
        held.kept_passages += len(ids)
        fetched = self._count(everything)
        held.fetched_tokens += fetched
        held.kept_tokens += fetched if text == everything else self._count(text)
        held.seconds += time.perf_counter() - started


def _words(text: str) -> int:
    return len(text.split())
