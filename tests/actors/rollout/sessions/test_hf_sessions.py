"""Sessions on a tiny transformers model: text, cache, questions, faults."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from actors.rollout.hf_engine import TransformersEngine
from actors.rollout.sessions.hf_sessions import TransformersSessions
from actors.rollout.sessions.open import open_sessions
from actors.rollout.sessions.token_session import TokenSession
from actors.rollout.sessions.types import EngineError, Piece
from actors.rollout.types import GenerationRequest, Sampling
from tests.actors.rollout.sessions.lively import read, text_of, write_lively_model

PROMPT = "Gout, Zinc and other words: "
GREEDY = Sampling(24, temperature=0.0)
DRAWN = Sampling(24, temperature=1.0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_lively_model(tmp_path_factory.mktemp("model") / "lively"))


@pytest.fixture(scope="module")
def plain(model: str) -> TransformersEngine:
    return TransformersEngine(model, dtype="float32", max_model_len=256, device="cpu")


def on_engine(
    model: str, go: Callable[[TransformersSessions], Awaitable[Any]], **options: Any
) -> Any:
    async def run() -> Any:
        engine = TransformersSessions(
            model, **{"device": "cpu", "threads": 1, "max_model_len": 256} | options
        )
        try:
            return await asyncio.wait_for(go(engine), 60)
        finally:
            await engine.close()

    return asyncio.run(run())


def greedy_ids(plain: TransformersEngine, ids: list[int], count: int) -> tuple[int, ...]:
    """What the plain engine writes, without a token that ends the text."""
    request = GenerationRequest("r", tuple(ids), 0)
    ((_, completion),) = plain.generate([request], Sampling(count, temperature=0.0))
    ended = completion.finish_reason == "stop"
    return completion.token_ids[:-1] if ended else completion.token_ids


def ids_of(pieces: list[Piece]) -> tuple[int, ...]:
    return tuple(token for piece in pieces for token in piece.token_ids)


def test_greedy_text_equals_the_plain_engines(model: str, plain: TransformersEngine) -> None:
    async def go(engine: TransformersSessions) -> tuple[list[int], list[Piece], TokenSession]:
        session = engine.open(PROMPT, GREEDY)
        before = session.token_ids
        return before, await read(session), session

    prompt_ids, pieces, session = on_engine(model, go)
    expected = greedy_ids(plain, prompt_ids, 24)
    assert ids_of(pieces) == expected
    assert session.text == text_of(pieces) == plain.tokenizer.decode(expected)
    assert len(set(expected)) > 8  # no model that repeats itself
    assert [p.finish for p in pieces] == [""] * (len(pieces) - 1) + [pieces[-1].finish]
    scored = plain.token_logprobs(prompt_ids, expected)
    logprobs = [value for piece in pieces for value in piece.logprobs]
    torch.testing.assert_close(torch.tensor(logprobs), torch.tensor(scored), atol=1e-4, rtol=1e-4)
    assert session.usage.written_tokens == len(expected)
    assert len(session.usage.first_token_s) == session.usage.requests == 1


def test_cut_and_append_continue_as_if_written_in_one(
    model: str, plain: TransformersEngine
) -> None:
    """And the tokens up to the cut are never computed again."""

    async def go(engine: TransformersSessions) -> tuple[Any, ...]:
        session = engine.open(PROMPT, GREEDY)
        await read(session, 10)
        place = len(session.text) - 3
        session.cut(place)
        session.append("<retrieved>Zinc é is a drug</retrieved>\n")
        ids, text = session.token_ids, session.text
        before = session.usage.prompt_tokens, session.usage.cached_tokens
        pieces = await read(session)
        usage = session.usage
        spent = usage.prompt_tokens - before[0], usage.cached_tokens - before[1]
        return ids, text, pieces, spent, session.text

    ids, text, pieces, (prompt, cached), after = on_engine(model, go)
    assert ids_of(pieces) == greedy_ids(plain, ids, 24)
    assert after == text + text_of(pieces)
    assert prompt == len(ids)
    appended = len(plain.tokenizer("<retrieved>Zinc é is a drug</retrieved>\n")["input_ids"])
    assert prompt - cached <= appended + 4  # and of the token that was split, the rest


@pytest.mark.parametrize("sampling", [GREEDY, DRAWN])
def test_where_reading_pauses_does_not_change_the_text(model: str, sampling: Sampling) -> None:
    async def go(engine: TransformersSessions) -> tuple[str, str, int, int]:
        whole = engine.open(PROMPT, sampling, seed=7)
        await read(whole)
        paused = engine.open(PROMPT, sampling, seed=7)
        for pieces in (3, 1, 5):
            await read(paused, pieces)
            await asyncio.sleep(0.01)  # the engine writes ahead
        part = paused.text
        assert whole.text.startswith(part)
        assert part
        await read(paused)
        return whole.text, paused.text, paused.usage.prompt_tokens, paused.usage.cached_tokens

    whole, paused, _, _ = on_engine(model, go)
    assert paused.startswith(whole)  # each writing may have 24 tokens of its own


def test_seeds_differ_and_repeat(model: str) -> None:
    async def go(engine: TransformersSessions) -> list[str]:
        sessions = [engine.open(PROMPT, DRAWN, seed=seed) for seed in (1, 2, 1)]
        return [text_of(pieces) for pieces in await asyncio.gather(*map(read, sessions))]

    one, two, again = on_engine(model, go)
    assert one == again != two


def test_many_sessions_at_once_write_what_each_writes_alone(model: str) -> None:
    prompts = [PROMPT * (1 + i % 3) + str(i) for i in range(8)]

    async def together(engine: TransformersSessions) -> list[str]:
        sessions = [engine.open(prompt, GREEDY) for prompt in prompts]
        return [text_of(pieces) for pieces in await asyncio.gather(*map(read, sessions))]

    async def alone(engine: TransformersSessions) -> list[str]:
        return [text_of(await read(engine.open(prompt, GREEDY))) for prompt in prompts]

    assert on_engine(model, together) == on_engine(model, alone)


def test_a_question_leaves_the_text_alone(model: str, plain: TransformersEngine) -> None:
    """While writing goes on, of the text up to a place, and its prefix is not computed again."""
    suffix = "\nHow sure? "

    async def go(engine: TransformersSessions) -> tuple[Any, ...]:
        quiet = engine.open(PROMPT, GREEDY)
        await read(quiet)
        session = engine.open(PROMPT, GREEDY)
        stream = session.write()
        for _ in range(6):
            await anext(stream)
        place = len(session.text) - 2
        (answer,) = await session.ask(suffix, Sampling(6, temperature=0.0), at=place)
        ids = session._line.ids_at(place) + engine.tokens.apart(suffix)[0]
        usage = session.usage
        async for _ in stream:
            pass
        return quiet.text, session.text, answer, ids, usage.cached_tokens, usage.side_tokens

    quiet, asked, answer, ids, cached, side = on_engine(model, go)
    assert asked == quiet
    expected = greedy_ids(plain, ids, 6)
    assert answer.token_ids == expected
    assert side == len(expected)
    assert cached >= len(ids) - 15


def test_many_answers_are_as_if_asked_one_by_one(model: str) -> None:
    """Draws by (seed, copy, place): the first of three is the one of one; others differ."""

    async def go(engine: TransformersSessions) -> tuple[list[Piece], list[Piece]]:
        session = engine.open(PROMPT, GREEDY)
        await read(session, 4)
        three = await session.ask("\nSo ", Sampling(12), n=3, seed=5)
        return three, await session.ask("\nSo ", Sampling(12), n=1, seed=5)

    three, one = on_engine(model, go)
    assert three[0].token_ids == one[0].token_ids
    assert len({piece.text for piece in three}) == 3
    assert all(len(p.logprobs) == len(p.entropies) == len(p.token_ids) for p in three)


def test_stop_strings_end_text_and_answers(model: str) -> None:
    async def go(engine: TransformersSessions) -> tuple[Any, ...]:
        free = engine.open(PROMPT, GREEDY)
        await read(free)
        stop = free.text[9:12]
        at = free.text.index(stop)
        bound = engine.open(PROMPT, Sampling(24, temperature=0.0, stop=(stop,)))
        pieces = await read(bound)
        (answer,) = await engine.open(PROMPT, GREEDY).ask("", bound._sampling)
        return free.text[:at], bound.text, pieces[-1].finish, answer

    expected, text, finish, answer = on_engine(model, go)
    assert (text, finish) == (expected, "stop")
    assert (answer.text, answer.finish) == (expected, "stop")


def test_editing_while_writing_is_refused(model: str) -> None:
    async def go(engine: TransformersSessions) -> None:
        session = engine.open(PROMPT, GREEDY)
        stream = session.write()
        await anext(stream)
        for edit in (lambda: session.cut(0), lambda: session.append("x")):
            with pytest.raises(RuntimeError, match="a write is open"):
                edit()
        with pytest.raises(RuntimeError, match="a write is open"):
            await anext(session.write())
        await stream.aclose()  # type: ignore[attr-defined]
        session.append("x")

    on_engine(model, go)


def test_a_full_context_ends_the_writing_and_keeps_room_for_a_question(model: str) -> None:
    async def go(engine: TransformersSessions) -> None:
        session = engine.open(PROMPT, Sampling(500, temperature=1.0), seed=3)
        while (await read(session))[-1].finish == "stop":
            session.append(" ")
        assert len(session.token_ids) <= 64 - 16
        assert (await session.ask("?", Sampling(4)))[0].finish
        assert [p.finish for p in await read(session)] == ["length"]
        session.append("word " * 40)
        with pytest.raises(EngineError, match="no room for an answer"):
            await session.ask("?", Sampling(4))

    on_engine(model, go, max_model_len=64, side_room=16)


def test_a_slow_reader_holds_its_own_session_back(model: str) -> None:
    """At most `run_ahead` tokens wait; the rest comes when they are read."""

    async def go(engine: TransformersSessions) -> tuple[int, int, str, str]:
        session = engine.open(PROMPT, Sampling(60, temperature=1.0), seed=11)
        stream = session.write()
        await anext(stream)
        other = engine.open(PROMPT, Sampling(60, temperature=1.0), seed=11)
        await read(other)  # the engine had time for more
        (job,) = session._jobs
        waiting = len(job.inbox)
        async for _ in stream:
            pass
        return waiting, session.usage.written_tokens, session.text, other.text

    waiting, _, text, other = on_engine(model, go, run_ahead=8)
    assert waiting <= 9
    assert text == other


def test_close_frees_and_engine_close_fails_what_runs(model: str) -> None:
    async def go(engine: TransformersSessions) -> None:
        session = engine.open(PROMPT, Sampling(200))
        stream = session.write()
        await anext(stream)
        waiting = asyncio.create_task(session.ask("?", Sampling(200)))
        await asyncio.sleep(0)
        await session.close()
        await session.close()
        with pytest.raises(EngineError, match="the session was closed"):
            await waiting
        with pytest.raises(EngineError, match="the session was closed"):
            async for _ in stream:
                pass
        other = engine.open(PROMPT, Sampling(200))
        running = other.write()
        await anext(running)
        await engine.close()
        with pytest.raises(EngineError, match="transformers engine was closed"):
            async for _ in running:
                pass
        with pytest.raises(EngineError, match="was closed"):
            await other.ask("?", Sampling(3))

    on_engine(model, go)


def test_a_fault_in_the_model_fails_its_session_and_spares_the_others(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model breaks on a prompt of a certain length, as an allocation would."""
    from transformers import LlamaForCausalLM

    forward = LlamaForCausalLM.forward

    def breaking(self: Any, *args: Any, input_ids: torch.Tensor, **more: Any) -> Any:
        if input_ids.shape[-1] > 90:
            raise MemoryError("no more memory")
        return forward(self, *args, input_ids=input_ids, **more)

    monkeypatch.setattr(LlamaForCausalLM, "forward", breaking)

    async def go(engine: TransformersSessions) -> tuple[str, str]:
        small, large = engine.open(PROMPT, GREEDY), engine.open("x y" * 60, GREEDY)
        results = await asyncio.gather(read(small), read(large), return_exceptions=True)
        assert isinstance(results[1], EngineError)
        assert "MemoryError: no more memory" in str(results[1])
        large.cut(0)
        again = engine.open(PROMPT, GREEDY)
        return text_of(results[0]), text_of(await read(again))  # type: ignore[arg-type]

    first, again = on_engine(model, go)
    assert first == again != ""


def test_without_kept_prefixes_all_is_computed_anew(model: str) -> None:
    async def go(engine: TransformersSessions) -> list[tuple[int, str]]:
        found = []
        for keep in (True, False):
            engine.keep_prefix = keep
            session = engine.open(PROMPT, GREEDY)
            await read(session, 8)
            session.append(" and so ")
            await read(session)
            found.append((session.usage.cached_tokens, session.text))
        return found

    (kept, text), (anew, same) = on_engine(model, go)
    assert kept > 0 == anew
    assert text == same


def test_sliding_windows_are_computed_anew_where_they_cannot_be_cropped(tmp_path: Path) -> None:
    from transformers import MistralConfig, MistralForCausalLM

    folder = write_lively_model(tmp_path / "tokens")
    torch.manual_seed(3)
    config = MistralConfig(
        vocab_size=600,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        sliding_window=16,
        max_position_embeddings=256,
        bos_token_id=None,
        eos_token_id=0,
        initializer_range=0.5,
    )
    MistralForCausalLM(config).save_pretrained(folder)

    async def go(engine: TransformersSessions) -> tuple[Any, ...]:
        session = engine.open(PROMPT, GREEDY)
        await read(session, 12)
        session.cut(5)
        session.append(" so it is ")
        ids = session.token_ids
        (answer,) = await session.ask("", GREEDY)
        return ids, answer, await read(session), session.usage

    ids, answer, pieces, usage = on_engine(str(folder), go)
    plain = TransformersEngine(str(folder), dtype="float32", max_model_len=256, device="cpu")
    expected = greedy_ids(plain, ids, 24)
    assert answer.token_ids == ids_of(pieces) == expected
    assert usage.cached_tokens == 0


def test_bad_prompts_and_options_are_named(model: str) -> None:
    async def go(engine: TransformersSessions) -> None:
        with pytest.raises(ValueError, match="the prompt of 'q7' has 0 tokens"):
            engine.open("", GREEDY, key="q7")
        with pytest.raises(ValueError, match=r"'q8' has \d+ tokens: at least 1 and at most 47"):
            engine.open("word " * 300, GREEDY, key="q8")

    on_engine(model, go, max_model_len=64)
    with pytest.raises(ValueError, match="no session engine 'tgi'; there are vllm, transformers"):
        open_sessions("tgi", model)
    with pytest.raises(ValueError, match=r"sessions of kind 'transformers': .*colour"):
        open_sessions("transformers", model, colour="red")
    with pytest.raises(OSError, match="nowhere"):
        open_sessions("transformers", str(Path(model).parent / "nowhere"))
