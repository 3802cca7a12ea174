import asyncio
import math
from contextlib import aclosing
from dataclasses import replace
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.rollout.types import Sampling
from pipelines.realm.simulated import SimulatedSessions
from pipelines.realm.simulation.ability import Ability
from pipelines.realm.simulation.facts import nature
from pipelines.realm.simulation.tokens import split
from pipelines.realm.types import Hop
from pipelines.realm.uncertainty.verbalised import ask_confidence, parse_confidence
from tests.pipelines.realm.simulation.hop_toys import (
    director_of,
    passage_of,
    question_of,
    retrieved,
    town_of,
    toys,
)

GREEDY = Sampling(2000, temperature=0.0)
WARM = Sampling(24, temperature=0.8)
PLAIN = Ability(
    knows=0.0, reads=1.0, misplaced=0.0, stubborn=0.0, distracted=0.0, checks=0.0, garbage=0.0
)
QUESTIONS, PASSAGES = toys(40)


def engine(ability=PLAIN, **options):
    return SimulatedSessions(QUESTIONS, PASSAGES, ability=ability, **options)


async def written(session, most=10_000):
    pieces = []
    async with aclosing(session.write()) as stream:
        async for piece in stream:
            pieces.append(piece)
            if sum(len(p.text) for p in pieces) >= most:
                break
    return pieces


def chain(number=0, *texts, ability=PLAIN, sampling=GREEDY, **options):
    async def run():
        session = engine(ability, **options).open("Prompt.", sampling, key=f"q{number}")
        for text in texts:
            session.append(text)
        await written(session)
        return session.text

    return asyncio.run(run())


def answer_of(text):
    return text.rpartition("answer is: ")[2].rstrip(".\n")


def test_right_if_every_hop_is_known_and_wrong_if_none_is():
    knowing = replace(PLAIN, knows=1.0)
    for number in range(10):
        assert answer_of(chain(number, ability=knowing)) == town_of(number)
        wrong = answer_of(chain(number))
        assert wrong
        assert wrong != town_of(number)


def test_a_hop_that_is_not_known_is_read_in_its_gold_sentence():
    both = retrieved(passage_of(3, "film"), passage_of(3, "director"))
    text = chain(3, both)
    assert answer_of(text) == town_of(3)
    assert f"{director_of(3)} came from {town_of(3)}, far away." in text.replace(both, "")


def test_one_hop_that_is_missing_is_enough_to_be_wrong():
    assert answer_of(chain(3, retrieved(passage_of(3, "film")))) != town_of(3)
    assert answer_of(chain(3, retrieved(passage_of(3, "director")))) != town_of(3)


@pytest.mark.parametrize(
    "lucky",
    [
        f"<retrieved>\n{director_of(3)}. {town_of(3)}.\n</retrieved>\n",
        f"<retrieved>\nNobody knows {director_of(3)} of {town_of(3)} here.\n</retrieved>\n",
        retrieved(passage_of(3, "film"), passage_of(3, "director")).replace("retrieved>", "other>"),
    ],
)
def test_the_answers_as_strings_are_no_evidence(lucky):
    assert answer_of(chain(3, lucky)) != town_of(3)


def test_an_error_carries_on():
    text = chain(5)
    wrong = text.partition("?")[2].partition("\n\n")[2]
    assert director_of(5) not in text
    assert "where did" in wrong
    assert f"where did {director_of(5)}" not in wrong


def test_evidence_after_a_wrong_claim_corrects_it_and_what_was_built_on_it():
    async def run():
        session = engine().open("Prompt.", GREEDY, key="q7")
        await written(session)
        assert answer_of(session.text) != town_of(7)
        session.cut(session.text.rindex("\n\n") + 2)  # before the conclusion
        session.append(retrieved(passage_of(7, "film"), passage_of(7, "director")))
        before = len(session.text)
        await written(session)
        return session.text[before:]

    after = asyncio.run(run())
    assert f"{director_of(7)} was made" not in after
    assert f"was made by {director_of(7)}" in after
    assert f"where did {director_of(7)} come from?" in after
    assert answer_of(after) == town_of(7)


def test_evidence_after_the_end_is_taken_in():
    async def run():
        session = engine().open("Prompt.", GREEDY, key="q7")
        await written(session)
        assert [piece.text for piece in await written(session)] == [""]  # nothing more to say
        session.append(retrieved(passage_of(7, "film"), passage_of(7, "director")))
        await written(session)
        return session.text

    assert answer_of(asyncio.run(run())) == town_of(7)


def test_wrong_and_sure_may_be_kept_against_the_text():
    stubborn = replace(PLAIN, misplaced=1.0, stubborn=1.0)  # unknown, so always wrong and sure
    both = retrieved(passage_of(7, "film"), passage_of(7, "director"))

    async def run(ability):
        session = engine(ability).open("Prompt.", GREEDY, key="q7")
        await written(session)
        session.append(both)
        await written(session)
        return answer_of(session.text)

    assert asyncio.run(run(stubborn)) != town_of(7)
    assert asyncio.run(run(replace(stubborn, stubborn=0.0))) == town_of(7)


@settings(max_examples=40, deadline=None)
@given(number=st.integers(0, 39), share=st.floats(0, 1), pieces=st.integers(1, 30))
def test_a_cut_without_evidence_changes_nothing(number, share, pieces):
    async def run():
        session = engine(piece_tokens=pieces).open("Prompt.", GREEDY, key=f"q{number}")
        await written(session)
        whole = session.text
        session.cut(round(share * len(whole)))
        await written(session)
        return whole, session.text

    whole, again = asyncio.run(run())
    assert again == whole


@settings(max_examples=40, deadline=None)
@given(number=st.integers(0, 39), cuts=st.lists(st.floats(0, 1), max_size=6))
def test_the_pieces_are_the_text_whatever_is_cut(number, cuts):
    async def run():
        session = engine().open("Prompt.", GREEDY, key=f"q{number}")
        text = ""
        for share in [*cuts, 1.0]:
            pieces = await written(session, most=120)
            text += "".join(piece.text for piece in pieces)
            assert session.text == text
            for piece in pieces:
                assert len(piece.token_ids) == len(piece.logprobs) == len(piece.entropies)
                assert all(value <= 0 for value in piece.logprobs)
                assert all(value >= 0 for value in piece.entropies)
            text = text[: round(share * len(text))]
            session.cut(len(text))
            session.append("<retrieved>\nNothing.\n</retrieved>\n")
            text = session.text

    asyncio.run(run())


def sentence_ends(text):
    return [at + 2 for at in range(len(text) - 1) if text[at] in ".?" and text[at + 1] in " \n"]


@pytest.mark.parametrize("use", [retrieved(), retrieved(*PASSAGES)], ids=["useless", "all"])
def test_evidence_after_every_sentence_still_comes_to_an_end(use):
    """A sentence that stands is not said again, so the chain gets on."""

    async def run(number):
        session = engine().open("Prompt.", GREEDY, key=f"q{number}")
        start = 0
        for step in range(40):
            await written(session)
            ends = [end for end in sentence_ends(session.text) if end > start]
            if not ends or "answer is" in session.text[start : ends[0]]:
                return step
            session.cut(ends[0])
            session.append(use)
            start = len(session.text)
        return None

    steps = [asyncio.run(run(number)) for number in range(10)]
    assert None not in steps
    assert max(steps) <= 16


def test_knowledge_hangs_on_seed_and_question_alone():
    half = Ability(knows=0.5)
    known = [engine(half, seed=1).knows(question) for question in QUESTIONS]
    assert (
        known == [engine(half, seed=1, black_box=True).knows(q) for q in reversed(QUESTIONS)][::-1]
    )
    assert known != [engine(half, seed=2).knows(question) for question in QUESTIONS]


def test_a_share_of_the_hops_is_known():
    questions, passages = toys(1000)
    sessions = SimulatedSessions(questions, passages, ability=0.3)
    known = [hop for question in questions for hop in sessions.knows(question)]
    assert abs(mean(known) - 0.3) < 4 * math.sqrt(0.3 * 0.7 / len(known))  # four deviations


def test_only_words_change_with_the_sampling_seed():
    async def run(seed):
        session = engine().open("Prompt.", Sampling(2000, 1.0), key="q1", seed=seed)
        await written(session)
        return session.text

    texts = [asyncio.run(run(seed)) for seed in range(8)]
    assert len(set(texts)) > 4
    assert len({answer_of(text) for text in texts}) == 1
    assert texts[0] == asyncio.run(run(0))


def test_confidence_and_logprobs_follow_knowledge():
    ability = replace(PLAIN, knows=0.5, misplaced=0.1)
    told, odds = {True: [], False: []}, {True: [], False: []}

    async def run():
        for question in QUESTIONS:
            sessions = engine(ability)
            known = sessions.knows(question)[0]
            session = sessions.open("Prompt.", GREEDY, key=question.id)
            await written(session)
            at = session.text.index("\n\n", session.text.index("\n\n") + 2)
            confidence, _ = await ask_confidence(session, at)
            told[known].append(confidence)
            session.cut(0)
            pieces = await written(session, most=at)
            odds[known].append(min(value for piece in pieces for value in piece.logprobs))

    asyncio.run(run())
    assert mean(told[True]) > mean(told[False]) + 0.3
    assert mean(odds[True]) > mean(odds[False]) + 0.5
    assert max(told[False]) > 0.6  # some are wrong and sure


def test_garbage_is_no_confidence():
    async def run(ability):
        session = engine(ability).open("Prompt.", GREEDY, key="q1")
        await written(session)
        return [
            (await session.ask(" Confidence (0-100):", WARM, seed=seed))[0].text
            for seed in range(12)
        ]

    assert all(parse_confidence(reply) is not None for reply in asyncio.run(run(PLAIN)))
    spoiled = asyncio.run(run(replace(PLAIN, garbage=1.0)))
    assert all(parse_confidence(reply) is None for reply in spoiled)
    assert len(set(spoiled)) > 1


def test_continuations_agree_where_it_is_sure():
    async def run(knows):
        differing = []
        for number in range(20):
            sessions = engine(replace(PLAIN, knows=knows))
            session = sessions.open("Prompt.", GREEDY, key=f"q{number}")
            await written(session)
            pieces = await session.ask("", WARM, n=3, seed=number)
            same = await session.ask("", replace(WARM, temperature=0.0), n=3, seed=number)
            assert len({piece.text for piece in same}) == 1
            differing.append(len({piece.text for piece in pieces}))
        return mean(differing)

    assert asyncio.run(run(1.0)) + 0.5 < asyncio.run(run(0.0))


def test_a_side_question_leaves_the_text_and_sees_it_up_to_a_place():
    async def run():
        session = engine().open("Prompt.", GREEDY, key="q2")
        await written(session)
        place = len(session.text)
        session.append(retrieved(passage_of(2, "film"), passage_of(2, "director")))
        text = session.text
        before = await session.ask("\nSo the answer is:", GREEDY, at=place)
        after = await session.ask("\nSo the answer is:", GREEDY)
        tagged = await session.ask("\n<answer>", GREEDY)
        query = await session.ask("\nMy search query:", GREEDY)
        assert session.text == text
        return before[0].text, after[0].text, tagged[0].text, query[0].text

    before, after, tagged, query = asyncio.run(run())
    assert before.strip(" .") not in ("", town_of(2))
    assert after == f" {town_of(2)}."
    assert tagged == f" {town_of(2)}</answer>"
    assert query.endswith("?")


def test_usage_counts_what_is_kept():
    async def run():
        session = engine().open("one two three", GREEDY, key="q2")
        await written(session)
        first = replace(session.usage, first_token_s=[])
        place = session.text.index("\n\n") + 2
        kept = 3 + len(split(session.text[:place]))
        session.cut(place)
        session.append("<retrieved>\nOf no use.\n</retrieved>\n")
        added = len(split("<retrieved>\nOf no use.\n</retrieved>\n"))
        await written(session)
        return first, session.usage, kept, added

    first, usage, kept, added = asyncio.run(run())
    assert (first.requests, first.prompt_tokens, first.cached_tokens) == (1, 3, 0)
    assert usage.requests == 2
    assert usage.prompt_tokens - first.prompt_tokens == kept + added
    assert usage.cached_tokens == kept
    assert usage.written_tokens > first.written_tokens > 0
    assert len(usage.first_token_s) == 2


def test_a_limit_of_tokens_stops_and_the_next_write_goes_on():
    whole = chain(4)

    async def run():
        session = engine().open("Prompt.", Sampling(7, 0.0), key="q4")
        finishes = []
        while session.text != whole:
            finishes.append((await written(session))[-1].finish)
        return finishes

    finishes = asyncio.run(run())
    assert set(finishes[:-1]) == {"length"}
    assert len(finishes) > 5


def test_a_stop_string_ends_the_writing_before_it():
    whole = chain(4)
    stop = whole[60:63]

    async def run():
        session = engine().open("Prompt.", Sampling(500, 0.0, stop=(stop,)), key="q4")
        pieces = await written(session)
        return session.text, pieces[-1].finish

    assert asyncio.run(run()) == (whole[: whole.index(stop)], "stop")


def test_search_tags_where_the_prompt_speaks_of_them():
    async def run(ability):
        session = engine(ability).open("Use <search>.", GREEDY, key="q6")
        await written(session)
        return session.text

    assert f"<search>{question_of(6).decomposition[0].question}</search>" in asyncio.run(run(PLAIN))
    assert "<search>" not in asyncio.run(run(replace(PLAIN, knows=1.0)))
    assert "<search>" not in chain(6)


def test_a_chain_may_end_without_answer_or_never():
    silent = replace(PLAIN, answerless=1.0)
    assert "answer is" not in chain(1, ability=silent)

    async def run():
        session = engine(replace(PLAIN, endless=1.0)).open("P", Sampling(900, 0.0), key="q1")
        pieces = await written(session)
        return session.text, session.usage.written_tokens, pieces[-1].finish

    text, tokens, finish = asyncio.run(run())
    assert "answer is" not in text
    assert (tokens, finish) == (900, "length")


def test_a_black_box_gives_text_alone():
    async def run():
        sessions = engine(black_box=True)
        session = sessions.open("Prompt.", GREEDY, key="q1")
        return sessions.has_logprobs, await written(session)

    has_logprobs, pieces = asyncio.run(run())
    assert not has_logprobs
    assert "".join(piece.text for piece in pieces) == chain(1)
    assert all(piece.token_ids == piece.logprobs == piece.entropies == () for piece in pieces)


def test_the_question_is_found_by_id_or_in_the_prompt():
    question = QUESTIONS[9]
    session = engine().open(f"Question: {question.text}\n", GREEDY, key="some/other-key")
    asyncio.run(written(session))
    assert question.text in session.text
    with pytest.raises(ValueError, match="no key to the question of session 'zz'"):
        engine().open("What is this?", GREEDY, key="zz")


def test_what_cannot_be_simulated_is_refused_by_name():
    with pytest.raises(ValueError, match=r"'q1', hop 2: its passage 'd1'"):
        SimulatedSessions(QUESTIONS, [p for p in PASSAGES if p.id != "d1"])
    with pytest.raises(ValueError, match="'q0' has no answer"):
        SimulatedSessions([replace(QUESTIONS[0], answers=())], PASSAGES)
    with pytest.raises(ValueError, match=r"knows is 1\.5"):
        engine(1.5)
    with pytest.raises(ValueError, match="piece_tokens is 0"):
        engine(piece_tokens=0)


def test_no_cut_or_second_write_while_it_is_written():
    async def run():
        session = engine().open("Prompt.", GREEDY, key="q1")
        stream = session.write()
        await anext(stream)
        for act in (lambda: session.cut(0), lambda: session.append("x")):
            with pytest.raises(RuntimeError, match="close `write` first"):
                act()
        await session.ask("\nConfidence:", GREEDY)
        await stream.aclose()
        session.cut(0)
        with pytest.raises(ValueError, match="cut at 5"):
            session.cut(5)

    asyncio.run(run())


def test_comparisons_are_worked_out_from_their_sides():
    sides = (
        Hop("When was A made?", "1950", "f1"),
        Hop("When was B made?", "1960", "d1"),
        Hop("Comparing #1 and #2: is A older?", "yes"),
    )
    question = replace(QUESTIONS[1], answers=("yes",), decomposition=sides)

    async def run(knows):
        sessions = SimulatedSessions([question], PASSAGES, ability=replace(PLAIN, knows=knows))
        session = sessions.open("Prompt.", GREEDY, key="q1")
        await written(session)
        return session.text

    assert answer_of(asyncio.run(run(1.0))) == "yes"
    assert answer_of(asyncio.run(run(0.0))) == "no"
    assert "comparing 1950 and 1960: is A older?" in asyncio.run(run(1.0))


def test_a_question_without_decomposition_gets_hops_of_its_passages():
    question = replace(QUESTIONS[1], decomposition=())

    async def run(knows, *texts):
        sessions = SimulatedSessions([question], PASSAGES, ability=replace(PLAIN, knows=knows))
        session = sessions.open("Prompt.", GREEDY, key="q1")
        for text in texts:
            session.append(text)
        await written(session)
        return answer_of(session.text)

    both = retrieved(passage_of(1, "film"), passage_of(1, "director"))
    assert asyncio.run(run(1.0)) == town_of(1)
    assert asyncio.run(run(0.0)) != town_of(1)
    assert asyncio.run(run(0.0, both)) == town_of(1)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("yes", "yes/no"),
        ("1596", "year"),
        ("April 1793", "date"),
        ("7,531", "number"),
        ("$5 million", "number"),
        ("Francis Baring, 1st Baronet", "name"),
        ("France", "short name"),
        ("modern-day Italians", "words"),
    ],
)
def test_kinds_of_answers(answer, kind):
    assert nature(answer) == kind


@given(st.text())
def test_tokens_are_all_of_the_text(text):
    assert "".join(split(text)) == text
