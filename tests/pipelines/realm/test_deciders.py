import asyncio
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.rollout.sessions.types import Usage
from pipelines.realm.deciders.likelihood import DraginLike, FlareLike, word_odds
from pipelines.realm.deciders.registry import DECIDERS, DeciderError, make_decider, method_of
from pipelines.realm.deciders.timing import (
    FixedInterval,
    Ircot,
    RandomTiming,
    SearchTags,
    SingleRetrieval,
    ThresholdOnly,
    last_sentences,
    matched_rate,
)
from pipelines.realm.inserts import evidence_block
from pipelines.realm.reason import OPENING, Reasoner, reason
from pipelines.realm.types import (
    GO_ON,
    Chain,
    Decider,
    Decision,
    Evidence,
    Formulation,
    Integration,
    Status,
    Step,
    StepRecord,
    StepState,
    Uncertainty,
)
from tests.pipelines.realm.scripted import FRANCE, ScriptedSession, Shelf, after, parts_of


def step_of(*words: tuple[str, float, float]) -> Step:
    """(token, probability, entropy) of each token."""
    texts, chances, entropies = zip(*words, strict=True)
    logprobs = tuple(math.log(chance) for chance in chances)
    return Step(0, "".join(texts), len(texts), logprobs, entropies, texts)


def state_of(
    step: Step | str = "It is Rome.",
    *,
    since_last: int = 1,
    evidence: tuple[Evidence, ...] = (),
    ended: bool = False,
    rsus: float = 0.0,
    before: str = "",
) -> StepState:
    if isinstance(step, str):
        step = Step(0, step)

    async def uncertainty() -> Uncertainty:
        return Uncertainty(rsus)

    session = ScriptedSession(lambda text: "")
    session.append(before + step.text + " And on")
    return StepState(
        "Where was Ada Lovelace born?",
        (step,),
        evidence,
        since_last,
        uncertainty,
        session,
        len(before + step.text),
        ended,
    )


def decided(decider: Decider, state: StepState) -> Decision:
    return asyncio.run(decider.decide(state))


def test_single_retrieves_before_the_first_step_only() -> None:
    decider = SingleRetrieval()
    opening = asyncio.run(decider.open("Who?"))
    assert (opening.retrieve, opening.query) == (True, "Who?")
    assert opening.integration is Integration.WHOLE
    assert decided(decider, state_of()) == GO_ON


@pytest.mark.parametrize(("k", "calls"), [(1, 6), (2, 3), (4, 1), (7, 0)])
def test_fixed_interval_counts_steps(k: int, calls: int) -> None:
    story = "a. b. c. d. e. f. So the answer is: x."

    def script(text: str) -> str:
        done = sum(text.count(f"{letter}.") for letter in "abcdef")
        return "".join(f"{letter}. " for letter in "abcdef"[done:]) + story[18:]

    shelf = Shelf()
    session = ScriptedSession(script, size=1)
    reasoner = Reasoner("q", "?", session, parts_of(shelf=shelf, late=0))
    chain = asyncio.run(reason(reasoner, FixedInterval(k)))
    assert (chain.answer, chain.calls) == ("x", calls)
    asked = [query.removeprefix("step: ") for query, _ in shelf.queries]
    assert asked == [f"{letter}." for letter in "abcdef"[k - 1 :: k]][:calls]


def test_ircot_asks_with_the_last_sentence_until_the_answer_is_there() -> None:
    state = state_of("Paris is in France. It lies on the Seine.")
    assert decided(Ircot(), state).query == "It lies on the Seine."
    assert decided(Ircot(sentences=2), state).query == state.step.text
    assert decided(Ircot(sentences=0), state).query == state.step.text
    assert decided(Ircot(), state_of(ended=True)) == GO_ON
    assert asyncio.run(Ircot().open("Who?")).query == "Who?"


def test_last_sentences() -> None:
    assert last_sentences(" An ape. A cat.\n", 1) == "A cat."
    assert last_sentences(" An ape. A cat.\n", 5) == "An ape. A cat."
    assert last_sentences("  ", 1) == ""


def test_the_threshold_is_of_rsus() -> None:
    assert decided(ThresholdOnly(0.65), state_of(rsus=0.66)).retrieve
    assert not decided(ThresholdOnly(0.65), state_of(rsus=0.65)).retrieve
    assert not decided(ThresholdOnly(0.65), state_of(rsus=1.0, ended=True)).retrieve
    decision = decided(ThresholdOnly(0.0, Formulation.GAP, Integration.CORAG), state_of(rsus=0.1))
    assert (decision.formulation, decision.integration) == (Formulation.GAP, Integration.CORAG)


def test_random_timing_is_drawn_by_seed_question_and_step_alone() -> None:
    def draws(seed: int, rate: float) -> list[bool]:
        decider = RandomTiming(rate, seed)
        states = [state_of(replace(Step(0, "x"), index=i)) for i in range(200)]
        return [decided(decider, state).retrieve for state in states]

    assert draws(1, 0.3) == draws(1, 0.3)
    assert draws(1, 0.3) != draws(2, 0.3)
    assert 40 <= sum(draws(1, 0.3)) <= 80  # 60 expected, standard deviation 6.5
    assert not any(draws(1, 0.0))
    assert all(draws(1, 1.0))
    assert all(high for low, high in zip(draws(1, 0.2), draws(1, 0.6), strict=True) if low)


def test_the_rate_for_equal_calls_leaves_out_openings_and_last_steps() -> None:
    def chain(status: Status, *indexes: int, calls: int) -> Chain:
        records = tuple(
            StepRecord(Step(i, "x"), GO_ON, evidence=Evidence("q") if n < calls else None)
            for n, i in enumerate(indexes)
        )
        return Chain("q", "?", "", status, records, "", Usage(), 0.0)

    chains = [
        chain(Status.ANSWERED, OPENING, 0, 1, 2, calls=1),  # 1 call, 2 steps to decide on
        chain(Status.STEP_LIMIT, 0, 1, 2, calls=2),  # 2 calls, 3 steps
    ]
    assert matched_rate(chains) == 3 / 5
    assert matched_rate([]) == 0.0


@pytest.mark.parametrize(
    ("before", "step", "query"),
    [
        ("", "I need it. <search> Who \n made it? </search>", "Who made it?"),
        ("I need it. <search>Who made it?", "</search>", "Who made it?"),
        ("<search>a</search> then ", "<search>b</search>", "b"),
        ("<search>a", " <search>b</search>", "b"),
        ("", "<search>open", None),
        ("", "<search> </search>", None),
        ("", "no tag </search>", None),
        ("<search>a</search>", " I see.", None),
        ("", "<search>a</search> I see now.", None),  # not at the end: it was not waited for
    ],
)
def test_search_tags(before: str, step: str, query: str | None) -> None:
    decision = decided(SearchTags(), state_of(step, before=before))
    assert decision.query == query
    assert decision.retrieve == (query is not None)


WORDS = (("The", 0.9, 0.1), (" cap", 0.9, 0.2), ("ital", 0.3, 1.6), (" is", 0.2, 2.0))
WORDS = (*WORDS, (" Rome", 0.8, 0.5), (".", 0.1, 3.0))


def test_tokens_are_gathered_into_words() -> None:
    found = word_odds(step_of(*WORDS))
    assert [w.text for w in found] == ["The", "capital", "is", "Rome"]
    assert [round(w.probability, 6) for w in found] == [0.9, 0.3, 0.2, 0.8]
    assert [w.entropy for w in found] == [0.1, 1.6, 2.0, 0.5]


@given(st.lists(st.sampled_from(["a", " b", ".", "", "\n", "cd ", "é", "'s"]), min_size=1))
def test_every_word_has_the_worst_of_its_tokens(tokens: list[str]) -> None:
    odds = [0.5 - 0.4 * i / len(tokens) for i in range(len(tokens))]
    step = step_of(*((t, p, 1 - p) for t, p in zip(tokens, odds, strict=True)))
    owner = [i for i, token in enumerate(tokens) for _ in token]
    for word in word_odds(step):
        assert step.text[word.start : word.end] == word.text
        worst = min(odds[i] for i in owner[word.start : word.end])
        assert word.probability == pytest.approx(worst)
        assert word.entropy == pytest.approx(1 - worst)


def test_flare_masks_unlikely_words_and_has_the_step_written_again() -> None:
    decision = decided(FlareLike(threshold=0.35, mask=0.25), state_of(step_of(*WORDS)))
    assert (decision.retrieve, decision.discard_step) == (True, True)
    assert decision.query == "The capital Rome"
    assert decided(FlareLike(threshold=0.2), state_of(step_of(*WORDS))) == GO_ON
    # Nothing of content is left: the question is asked.
    decision = decided(FlareLike(threshold=0.9, mask=0.85), state_of(step_of(*WORDS)))
    assert decision.query == "Where was Ada Lovelace born?"


@pytest.mark.parametrize("decider", [FlareLike(1.0), DraginLike(0.0)])
def test_a_step_that_was_written_again_stays(decider: Decider) -> None:
    step = step_of(*WORDS)
    brought = (Evidence("q", text="Paris."),)
    assert decided(decider, state_of(step, evidence=brought)) == GO_ON
    assert decided(decider, state_of(step, evidence=brought, since_last=2)).retrieve
    nothing = (Evidence("q", failure="down"),)  # nothing was inserted, nothing written again
    assert decided(decider, state_of(step, evidence=nothing)).retrieve
    # An unsure answer is written again, too.
    assert decided(decider, state_of(step, ended=True)).discard_step


def test_flare_rewrites_once_in_a_chain() -> None:
    block = evidence_block(FRANCE.text)
    script = after((block, "The answer is: Paris."), start="It is Rome. So on.")

    session = ScriptedSession(script, logprob=-9.0)
    chain = asyncio.run(reason(Reasoner("q", "?", session, parts_of()), FlareLike()))
    assert chain.text == block + "The answer is: Paris."
    assert [r.step.text for r in chain.steps][:2] == ["It is Rome.", "The answer is: Paris."]
    assert (chain.answer, chain.calls) == ("Paris", 1)


def test_dragin_asks_about_the_first_content_word_in_need() -> None:
    # "capital" has 1.6 nats; "is" is a stop word, so its 2.0 count for nothing.
    state = state_of(step_of(*WORDS), before="She moved to Italy. ")
    decision = decided(DraginLike(threshold=1.5), state)
    assert decision.query == "Ada Lovelace born moved Italy"
    assert decision.discard_step
    assert decided(DraginLike(threshold=1.7), state) == GO_ON
    assert decided(DraginLike(1.5, length=1), state).query == "Ada Lovelace born Italy"
    assert decided(DraginLike(1.5, length=0), state).query == "Ada Lovelace born"


def test_dragin_heeds_words_that_are_mentioned_again() -> None:
    words = (("Rome", 0.5, 1.0), (" met", 0.5, 1.0), (" Oslo", 0.5, 0.1), (" met", 0.5, 0.1))
    # most mentions later: "met", 1; attention of Rome (1+0)/2, of the first met (1+1)/2.
    decision = decided(DraginLike(threshold=0.9), state_of(step_of(*words)))
    assert decision.query == "Ada Lovelace born Rome"


def test_dragin_does_not_query_with_earlier_evidence() -> None:
    before = "She moved. " + evidence_block("Zanzibar.", ".")
    decision = decided(DraginLike(threshold=1.5), state_of(step_of(*WORDS), before=before))
    assert decision.query == "Ada Lovelace born moved"


@pytest.mark.parametrize("name", ["flare", "dragin"])
def test_black_boxes_are_refused_where_probabilities_are_needed(name: str) -> None:
    assert method_of(name).needs_logprobs
    with pytest.raises(ValueError, match="log-probabilities"):
        decided(make_decider(name), state_of("A step of a black box."))


def test_deciders_are_made_by_name_and_options() -> None:
    assert set(DECIDERS) == {
        "none", "single", "fixed", "ircot", "flare", "dragin", "threshold", "random", "search-tags",
    }  # fmt: skip
    for name in set(DECIDERS) - {"flare", "dragin"}:
        assert decided(make_decider(name), state_of(ended=True, rsus=1.0)) == GO_ON
    decider = make_decider("fixed:k=3:formulation=gap", integration=Integration.CORAG)
    assert not decided(decider, state_of(since_last=2)).retrieve
    decision = decided(decider, state_of(since_last=3))
    assert (decision.formulation, decision.integration) == (Formulation.GAP, Integration.CORAG)
    assert method_of("threshold:threshold=.5").needs_meter
    assert method_of("search-tags").style == "search_tags"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("irccot", "no decider 'irccot'; there are none, single"),
        ("", "no decider ''"),
        ("fixed:2", "'2' is no option; fixed has k=..."),
        ("fixed:q=2", "'q=2' is no option"),
        ("fixed:k=two", "k is 'two', must be a whole number"),
        ("fixed:k=0", "k is 0, must be at least 1"),
        ("random:rate=often", "rate is 'often', must be a number"),
        ("random:rate=1.5", "rate of retrievals is 1.5"),
        ("threshold:threshold=-1", "threshold of RSUS is -1.0"),
        ("fixed:formulation=best", "must be one of step, entity, gap, rewriter"),
        ("none:k=1", "none has none"),
        ("flare:mask=2", "mask is 2.0"),
        ("dragin:length=-1", "length -1"),
        ("ircot:sentences=-2", "sentences of the query is -2"),
    ],
)
def test_a_spec_that_is_wrong_says_what_there_is(spec: str, said: str) -> None:
    with pytest.raises(DeciderError) as caught:
        make_decider(spec)
    assert said in str(caught.value)


def test_an_option_that_there_is_not_is_refused() -> None:
    with pytest.raises(DeciderError, match="no option 'speed'"):
        make_decider("none", speed=1)
