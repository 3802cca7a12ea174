"""A chain as JSON: what `--json` prints, and the whole trace."""

from typing import Any

from pipelines.realm.types import Chain, Decision, Evidence, StepRecord


def action_name(decision: Decision) -> str:
    """`go_on`, or `retrieve:FORMULATION:INTEGRATION`; a query that was given goes by `given`."""
    if not decision.retrieve:
        return "go_on"
    formulation = decision.formulation.value if decision.query is None else "given"
    return f"retrieve:{formulation}:{decision.integration.value}"


def kept_share(chain: Chain) -> float | None:
    """Share of the fetched tokens that was inserted, over all retrievals; None without any."""
    fetched = sum(evidence.fetched_tokens for evidence in chain.evidence)
    return sum(e.kept_tokens for e in chain.evidence) / fetched if fetched else None


def step_seconds(record: StepRecord) -> float:
    """Seconds from the start of the step's writing to where the next step's writing starts."""
    taken = record.write_s + record.decide_s
    if record.evidence is not None:
        taken += record.evidence.search_s + record.evidence.integrate_s
    return taken


def chain_json(chain: Chain) -> dict[str, Any]:
    """What `seekray realm ask --json` prints.

    Parts of RSUS that were not worked out are null, and so are `query` where nothing was retrieved
    and `kept_share` where nothing was fetched. `tokens` are all that the model wrote, side
    questions too; `cache_hits` the searches that were there before they were asked for.
    """
    return {
        "answer": chain.answer,
        "steps": [_step(record) for record in chain.steps],
        "calls": chain.calls,
        "tokens": chain.usage.written_tokens + chain.usage.side_tokens,
        "cache_hits": sum(evidence.prefetched for evidence in chain.evidence),
        "kept_share": _rounded(kept_share(chain)),
        "seconds": _rounded(chain.seconds),
    }


def trace_json(chain: Chain) -> dict[str, Any]:
    """All that is known of a chain (`--trace FILE.json`): `chain_json` with status, warnings,
    engine usage, timings, evidence and tokens of each step."""
    usage = chain.usage
    steps = []
    for record in chain.steps:
        steps.append(
            _step(record)
            | {
                "index": record.step.index,
                "discarded": record.decision.retrieve and record.decision.discard_step,
                "tokens": record.step.tokens,
                "started_s": _rounded(record.started_s),
                "write_s": _rounded(record.write_s),
                "decide_s": _rounded(record.decide_s),
                "resume_s": _rounded(record.resume_s),
                "rsus_seconds": record.uncertainty and _rounded(record.uncertainty.seconds),
                "rsus_tokens": record.uncertainty and record.uncertainty.tokens,
                "evidence": record.evidence and _evidence(record.evidence),
            }
        )
    return chain_json(chain) | {
        "question_id": chain.question_id,
        "question": chain.question,
        "status": chain.status.value,
        "warnings": list(chain.warnings),
        "steps": steps,
        "text": chain.text,
        "usage": {
            "requests": usage.requests,
            "prompt_tokens": usage.prompt_tokens,
            "cached_tokens": usage.cached_tokens,
            "written_tokens": usage.written_tokens,
            "side_tokens": usage.side_tokens,
            "first_token_s": [_rounded(seconds) for seconds in usage.first_token_s],
        },
    }


def _step(record: StepRecord) -> dict[str, Any]:
    found, evidence = record.uncertainty, record.evidence
    return {
        "text": record.step.text,
        "rsus": found and _rounded(found.rsus),
        "u_verb": found and _rounded(found.verb),
        "u_ent": found and _rounded(found.ent),
        "u_cons": found and _rounded(found.cons),
        "action": action_name(record.decision),
        "query": evidence and evidence.query,
        "evidence_ids": list(evidence.kept_ids) if evidence else [],
        "seconds": _rounded(step_seconds(record)),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "text": evidence.text,
        "passages": [
            {"id": p.id, "title": p.title, "text": p.text, "score": _rounded(p.score)}
            for p in evidence.passages
        ],
        "kept_ids": list(evidence.kept_ids),
        "fetched_tokens": evidence.fetched_tokens,
        "kept_tokens": evidence.kept_tokens,
        "search_s": _rounded(evidence.search_s),
        "integrate_s": _rounded(evidence.integrate_s),
        "prefetched": evidence.prefetched,
        "failure": evidence.failure,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
