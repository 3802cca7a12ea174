"""Exercises the vLLM engine beside the transformers engine and prints what it saw as JSON."""

import json
import sys

import torch

from actors.rollout.hf_engine import TransformersEngine
from actors.rollout.types import GenerationRequest, Sampling
from actors.rollout.vllm_engine import VllmEngine


def gap(ours: tuple[float, ...], theirs: tuple[float, ...]) -> float:
    """Largest difference."""
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))


def main(model: str) -> None:
    """All of it with one engine: starting one takes most of the time."""
    on_gpu = torch.cuda.is_available()
    engine = VllmEngine(
        model,
        dtype="float32",
        max_model_len=256,
        kv_cache_gib=1,
        gpu_memory_utilization=0.3,
        threads=2,
    )
    other = TransformersEngine(
        model, dtype="float32", max_model_len=256, threads=2, device="cuda" if on_gpu else "cpu"
    )
    prompt = tuple(range(10, 90))
    requests = [GenerationRequest(f"r{i}", prompt[: 40 + i], i) for i in range(40)]
    sampling = Sampling(max_new_tokens=16, temperature=0.7)
    written = dict(engine.generate(requests, sampling))
    again = dict(engine.generate(requests[3:4], sampling))
    moved = dict(engine.generate([GenerationRequest("r3", requests[3].prompt_ids, 999)], sampling))
    report: dict[str, object] = {
        "keys": sorted(written, key=lambda key: int(key[1:])),
        "same_seed_same_tokens": again["r3"].token_ids == written["r3"].token_ids,
        "other_seed_other_tokens": moved["r3"].token_ids != written["r3"].token_ids,
    }

    def drawn_from(index: int, temperature: float) -> tuple[float, ...]:
        completion = written[f"r{index}"]
        ids = torch.tensor([[*requests[index].prompt_ids, *completion.token_ids]])
        with torch.no_grad():
            logits = other.model(ids.to(other.device)).logits[0].float().cpu() / temperature
        rows = torch.log_softmax(logits[len(requests[index].prompt_ids) - 1 : -1], -1)
        return tuple(float(rows[i, token]) for i, token in enumerate(completion.token_ids))

    report["gap_generated"] = max(
        gap(written[f"r{i}"].logprobs, drawn_from(i, 0.7)) for i in range(40)
    )
    report["gap_raw"] = max(gap(written[f"r{i}"].logprobs, drawn_from(i, 1.0)) for i in range(40))

    scored = [(r.prompt_ids, written[r.key].token_ids[: 1 + i % 5]) for i, r in enumerate(requests)]
    ours, theirs = engine.batch_logprobs(scored), other.batch_logprobs(scored)
    report["gap_batched"] = max(map(gap, ours, theirs))
    report["gap_batched_alone"] = max(
        gap(row, engine.token_logprobs(*asked))
        for row, asked in zip(ours[:8], scored[:8], strict=True)
    )
    report["empty_batch"] = engine.batch_logprobs([])

    torch.manual_seed(1)
    changed = {
        name: (p + 0.3 * torch.randn_like(p)).detach().cpu()
        for name, p in other.model.named_parameters()
    }
    other.update_weights(changed.items(), 5)
    ids = written["r9"].token_ids
    asked = requests[9].prompt_ids, ids
    report["gap_before_update"] = gap(engine.token_logprobs(*asked), other.token_logprobs(*asked))
    engine.update_weights(changed.items(), 5)
    report["gap_after_update"] = gap(engine.token_logprobs(*asked), other.token_logprobs(*asked))
    fresh = dict(engine.generate(requests[9:10], Sampling(max_new_tokens=16)))["r9"]
    report["gap_generated_after_update"] = gap(
        fresh.logprobs, other.token_logprobs(requests[9].prompt_ids, fresh.token_ids)
    )
    report["version_after_update"] = fresh.policy_version

    stream = engine.generate(requests, Sampling(max_new_tokens=64))
    next(stream)
    stream.close()
    report["keys_after_abandon"] = sorted(
        key for key, _ in engine.generate(requests[:2], Sampling(max_new_tokens=4))
    )
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
