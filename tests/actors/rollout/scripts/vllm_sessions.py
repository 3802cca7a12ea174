"""Exercises sessions on vLLM beside sessions on transformers; prints what it saw as JSON."""

import asyncio
import json
import sys
import time
from typing import Any

from actors.rollout.sessions.hf_sessions import TransformersSessions
from actors.rollout.sessions.thread_sessions import ThreadSessions
from actors.rollout.sessions.types import EngineError, Piece
from actors.rollout.sessions.vllm_sessions import VllmSessions
from actors.rollout.types import Sampling
from tests.actors.rollout.sessions.lively import read, text_of

PROMPT = "Gout, Zinc and other words that make a prompt of some blocks: " * 2
EVIDENCE = "<retrieved>Aspirin é helps in Measles, says a study of 1978.</retrieved>\n" * 2
GREEDY = Sampling(40, temperature=0.0)


async def chain(engine: ThreadSessions, number: int) -> dict[str, Any]:
    """A text with two insertions and a question, greedy."""
    session = engine.open(f"{number} {PROMPT}", GREEDY, key=str(number))
    pieces: list[Piece] = []
    for place in (11 + number, 23):
        pieces += await read(session, place)
        session.cut(len(session.text) - 2)
        session.append(EVIDENCE)
    stream = session.write()
    for _ in range(5):
        pieces.append(await anext(stream))
    answers = await session.ask("\nHow sure? ", Sampling(8, temperature=0.0), n=2)
    pieces += [piece async for piece in stream]
    await session.close()
    usage = session.usage
    return {
        "text": session.text,
        "ids": session.token_ids,
        "answers": [answer.text for answer in answers],
        "logprobs": [value for piece in pieces for value in piece.logprobs],
        "entropies": [value for piece in pieces for value in piece.entropies],
        "prompt": usage.prompt_tokens,
        "cached": usage.cached_tokens,
        "requests": usage.requests,
        "first": usage.first_token_s,
    }


async def insertion(engine: ThreadSessions, keep: bool) -> dict[str, Any]:
    """Cached and prompt tokens of the request after an insertion into a long text."""
    engine.keep_prefix = keep
    session = engine.open(PROMPT + str(keep), Sampling(120, temperature=0.0))
    await read(session)
    session.append(EVIDENCE)
    before = session.usage.prompt_tokens, session.usage.cached_tokens
    stood = len(session.token_ids)
    await read(session, 3)
    after = session.usage.prompt_tokens, session.usage.cached_tokens
    engine.keep_prefix = True
    inserted = len(engine.tokens.apart(EVIDENCE)[0])
    return {
        "prompt": after[0] - before[0],
        "cached": after[1] - before[1],
        "stood": stood - inserted,
        "text": session.text,
    }


async def drawn(engine: ThreadSessions) -> list[str]:
    """Seeds 1, 2 and 1 again."""
    sessions = [engine.open(PROMPT, Sampling(16), seed=seed) for seed in (1, 2, 1)]
    return [text_of(pieces) for pieces in await asyncio.gather(*map(read, sessions))]


async def slow(engine: ThreadSessions) -> dict[str, Any]:
    """A session that is not read while another writes as much."""
    sampling = Sampling(200, temperature=0.0)
    session, other = engine.open(PROMPT, sampling), engine.open(PROMPT, sampling)
    stream = session.write()
    await anext(stream)
    await read(other)
    (job,) = session._jobs
    waiting = len(job.inbox)
    async for _ in stream:
        pass
    usage = session.usage
    return {
        "waiting": waiting,
        "same": session.text == other.text,
        "written": usage.written_tokens,
        "expected": other.usage.written_tokens,
        "requests": usage.requests,
        "firsts": len(usage.first_token_s),
    }


async def faults(engine: ThreadSessions) -> dict[str, Any]:
    """A refused request; a session closed in the middle; the engine closed in the middle."""
    found: dict[str, Any] = {}
    try:
        await read(engine.open(PROMPT, Sampling(5, temperature=0.001)))
    except EngineError as error:
        found["refused"] = str(error)
    gone = engine.open(PROMPT, Sampling(100))
    stream = gone.write()
    await anext(stream)
    await gone.close()
    other = engine.open(PROMPT, Sampling(100, temperature=0.0))
    running = other.write()
    await anext(running)
    await engine.close()
    try:
        async for _ in running:
            pass
    except EngineError as error:
        found["closed"] = str(error)
    return found


async def main(model: str) -> None:
    """All of it with one engine: starting one takes most of the time."""
    options: dict[str, Any] = {"dtype": "float32", "max_model_len": 512, "threads": 2}
    plain = TransformersSessions(model, device="cpu", **options)
    engine = VllmSessions(model, **options)
    report: dict[str, Any] = {}
    for name, each in (("vllm", engine), ("transformers", plain)):
        report[name] = await asyncio.gather(*(chain(each, number) for number in range(4)))
        report[f"{name}_insertion"] = [await insertion(each, keep) for keep in (True, False)]
    started = time.perf_counter()
    report["vllm_alone"] = [await chain(engine, number) for number in range(4)]
    report["alone_s"] = time.perf_counter() - started
    report["slow"] = await slow(engine)
    report["drawn"] = await drawn(engine)
    await plain.close()
    report["faults"] = await faults(engine)
    print(json.dumps(report))


asyncio.run(main(sys.argv[1]))
