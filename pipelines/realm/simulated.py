"""The engine of the simulated reasoner.

No model runs here. It has the questions' gold decompositions and the gold passages, and writes what
a reasoner of a given ability could write: see `pipelines.realm.simulation`. What it measures is how
well *deciding when and what to retrieve* works on the real index; never how well a model reasons.
Left out: answers from passages other than a hop's gold one, reasoning in another order than the
decomposition's, and recovery of a hop whose premise is wrong and stays so.
"""

from collections.abc import Iterable, Sequence

from actors.rollout.types import Sampling
from actors.search.ranking.passages import Passage
from pipelines.realm.simulation.ability import Ability
from pipelines.realm.simulation.belief import Mind
from pipelines.realm.simulation.facts import FactBook
from pipelines.realm.simulation.plan import Planner
from pipelines.realm.simulation.session import SimulatedSession
from pipelines.realm.types import HopQuestion
from pipelines.seeds import seed_of

NAME = "simulated"


class SimulatedSessions:
    """See `actors.rollout.sessions.types.SessionEngine`. Named "simulated" wherever it is reported.

    `passages` is the pooled corpus (all gold passages must be in it), `ability` an `Ability` or the
    chance that a hop is known. `pace_s` are the seconds a token takes to write, for runs in which
    time matters; `black_box` leaves out token ids, log-probabilities and entropies. Knowledge hangs
    on `seed`, question and hop alone: whatever the decider, the same hops are known.
    Raises ValueError for questions that cannot be simulated, naming them.
    """

    name = NAME

    def __init__(
        self,
        questions: Sequence[HopQuestion],
        passages: Iterable[Passage],
        *,
        ability: Ability | float | None = None,
        seed: int = 0,
        piece_tokens: int = 16,
        pace_s: float = 0.0,
        black_box: bool = False,
    ) -> None:
        if piece_tokens < 1 or pace_s < 0:
            raise ValueError(
                f"piece_tokens is {piece_tokens} (at least 1), pace_s {pace_s} (at least 0)"
            )
        if ability is None:
            ability = Ability()
        self.ability = ability if isinstance(ability, Ability) else Ability(knows=ability)
        self.seed = seed
        self.has_logprobs = not black_box
        self._book = FactBook(questions, passages)
        self._piece_tokens = piece_tokens
        self._pace_s = pace_s

    def open(
        self, prompt: str, sampling: Sampling, *, key: str = "", seed: int = 0
    ) -> SimulatedSession:
        """A session on the question with id `key`, or else on the one that `prompt` holds.

        At a temperature over 0, `seed` varies the words (never what is known). A prompt that speaks
        of `<search>` makes it write its needs in such tags. Raises ValueError for a question that
        it was not given.
        """
        question = self._book.find(key, prompt)
        if question is None:
            raise ValueError(
                f"the simulated reasoner has no key to the question of session {key!r}: it can "
                "only work on the questions it was given"
            )
        style = seed_of(self.seed, question.id, seed) if sampling.temperature > 0 else 0
        mind = Mind(self._book.facts(question), self.ability, self.seed)
        return SimulatedSession(
            Planner(mind, style=style, tags="<search>" in prompt),
            prompt,
            sampling,
            piece_tokens=self._piece_tokens,
            pace_s=self._pace_s,
            has_logprobs=self.has_logprobs,
        )

    def knows(self, question: HopQuestion) -> tuple[bool, ...]:
        """Which hops it knows unread: what a report on the simulation may want to tell."""
        facts = self._book.facts(question)
        mind = Mind(facts, self.ability, self.seed)
        return tuple(fact.derived or mind.knows(hop) for hop, fact in enumerate(facts.hops))

    async def close(self) -> None:
        """Nothing runs."""
