"""The transformers engine, on a tiny model."""

from pathlib import Path

import pytest
import torch

from actors.rollout.hf_engine import TransformersEngine
from actors.rollout.types import Completion, GenerationRequest, Sampling

PROMPTS = [(5, 6, 7), (9,), (20, 21, 22, 23, 24), (8, 8)]
REQUESTS = [GenerationRequest(f"r{i}", ids, 100 + i) for i, ids in enumerate(PROMPTS)]


@pytest.fixture(scope="module")
def engine(tiny_model: Path) -> TransformersEngine:
    return TransformersEngine(
        str(tiny_model), dtype="float32", max_model_len=64, batch_size=4, device="cpu"
    )


def completions(engine: TransformersEngine, **changes: object) -> dict[str, Completion]:
    sampling = Sampling(**({"max_new_tokens": 12} | changes))  # type: ignore[arg-type]
    return dict(engine.generate(REQUESTS, sampling))


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_logprobs_are_those_of_the_distribution_drawn_from(
    engine: TransformersEngine, temperature: float
) -> None:
    written = completions(engine, temperature=temperature)
    for request in REQUESTS:
        completion = written[request.key]
        ids = torch.tensor([[*request.prompt_ids, *completion.token_ids]])
        with torch.no_grad():
            logits = engine.model(ids).logits[0, len(request.prompt_ids) - 1 : -1] / temperature
        expected = torch.log_softmax(logits, -1)[
            range(len(completion.token_ids)), list(completion.token_ids)
        ]
        torch.testing.assert_close(
            torch.tensor(completion.logprobs), expected, atol=1e-5, rtol=1e-5
        )


def test_completion_depends_on_its_seed_not_on_its_batch(engine: TransformersEngine) -> None:
    together = completions(engine)
    sampling = Sampling(max_new_tokens=12)
    for request in REQUESTS:
        assert dict(engine.generate([request], sampling))[request.key].token_ids == (
            together[request.key].token_ids
        )
    other = dict(engine.generate([GenerationRequest("r0", PROMPTS[0], 7)], sampling))
    assert other["r0"].token_ids != together["r0"].token_ids


def test_greedy_takes_the_likeliest_token(engine: TransformersEngine) -> None:
    first = completions(engine, temperature=0.0)["r0"].token_ids[0]
    with torch.no_grad():
        assert first == int(engine.model(torch.tensor([PROMPTS[0]])).logits[0, -1].argmax())


def test_length_and_stop(engine: TransformersEngine) -> None:
    cut = completions(engine, max_new_tokens=3)
    assert all(len(c.token_ids) <= 3 for c in cut.values())
    eos = engine.tokenizer.eos_token_id
    for completion in completions(engine, max_new_tokens=48).values():
        ended = completion.token_ids[-1] == eos
        assert completion.finish_reason == ("stop" if ended else "length")
        assert eos not in completion.token_ids[:-1]


def test_token_logprobs_equal_those_of_generation(engine: TransformersEngine) -> None:
    completion = completions(engine)["r2"]
    again = engine.token_logprobs(PROMPTS[2], completion.token_ids)
    assert again == pytest.approx(completion.logprobs, abs=1e-5)


def test_update_weights_is_all_or_nothing(tiny_model: Path) -> None:
    engine = TransformersEngine(str(tiny_model), dtype="float32", max_model_len=64, device="cpu")
    before = engine.token_logprobs(PROMPTS[0], (3, 4))
    whole = {n: p.detach().clone() for n, p in engine.model.named_parameters()}
    part = dict(list(whole.items())[:-1])
    with pytest.raises(ValueError, match=r"not given: model\.norm\.weight"):
        engine.update_weights(part.items(), 1)
    with pytest.raises(ValueError, match="does not have: stranger"):
        engine.update_weights({**whole, "stranger": torch.ones(1)}.items(), 1)
    assert engine.token_logprobs(PROMPTS[0], (3, 4)) == before
    assert engine.policy_version == 0
    engine.update_weights({n: 1.5 * p for n, p in whole.items()}.items(), 3)
    assert engine.token_logprobs(PROMPTS[0], (3, 4)) != before
    assert completions(engine)["r1"].policy_version == 3


def test_too_long_a_prompt_names_itself(engine: TransformersEngine) -> None:
    with pytest.raises(ValueError, match="'long' has 60 tokens"):
        list(engine.generate([GenerationRequest("long", (1,) * 60, 0)], Sampling(12)))


def test_batched_logprobs_equal_those_one_by_one(engine: TransformersEngine) -> None:
    """Prefixes of 40 shared tokens, strangers, unequal lengths, an equal prompt, in many batches
    and in one."""
    shared = tuple(range(5, 45))
    prompts = [(*shared, *range(50, 50 + n)) for n in (1, 7, 3)] + [shared, shared, *PROMPTS]
    requests = [(prompt, tuple(range(60, 61 + i % 4))) for i, prompt in enumerate(prompts)]
    expected = [engine.token_logprobs(*request) for request in requests]
    for budget in (1, 100, 10_000):
        engine.logprob_tokens = budget
        found = engine.batch_logprobs(requests)
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    assert engine.batch_logprobs([]) == []


@pytest.mark.parametrize(
    ("request_ids", "fault"),
    [
        (((), (1,)), "empty prompt"),
        (((1,), ()), "empty prompt or completion"),
        ((tuple(range(60)), tuple(range(5))), "60 prompt and 5 completion tokens"),
    ],
)
def test_logprob_requests_that_cannot_be_answered(
    engine: TransformersEngine, request_ids: tuple[tuple[int, ...], tuple[int, ...]], fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        engine.batch_logprobs([((1, 2), (3,)), request_ids])
