"""A chain as one HTML file: a timeline, and every step with what was decided on it and why.

Nothing is fetched and nothing runs: style sheet and marks stand in the file, and all text of
models, passages and users is escaped.
"""

from html import escape

from pipelines.realm.chain_json import action_name, kept_share, step_seconds
from pipelines.realm.types import Chain, Evidence, StepRecord, Uncertainty

_PHASES = ("write", "decide", "search", "integrate", "resume")
_NAMES = {
    "write": "writing",
    "decide": "RSUS and decision",
    "search": "search",
    "integrate": "taking in",
    "resume": "to the first token after it",
}
_STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--dim:#5b6675;--paper:#fff;--card:#f5f7fa;
--line:#d5dbe3;--write:#4878a8;--decide:#c78a2c;--search:#3a8f6b;--integrate:#8661a8;--resume:#b5524d;--warn:#a33c36}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--dim:#9aa6b5;--paper:#14181e;--card:#1d232b;
--line:#333c48;--write:#6d9ccb;--decide:#dba550;--search:#5cb48d;--integrate:#a988c8;--resume:#d67a74;
--warn:#e08a84}}
*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem;max-width:70rem;color:var(--ink);
background:var(--paper);font:15px/1.5 system-ui,sans-serif}h1{font-size:1.25rem;margin:0 0 .4rem}
h2{font-size:1rem;margin:1.6rem 0 .5rem}.answer{font-size:1.1rem;margin:.2rem 0 .8rem}
.dim{color:var(--dim)}.warn{color:var(--warn)}
dl{display:flex;flex-wrap:wrap;gap:.3rem 1.6rem;margin:0}
dt{color:var(--dim);font-size:.85rem}dd{margin:0;font-variant-numeric:tabular-nums}
.row{display:grid;grid-template-columns:4.5rem 1fr 4.5rem;gap:.6rem;align-items:center;margin:2px 0;
font-size:.85rem}.row a{color:inherit}.bar{position:relative;height:1rem;background:var(--card)}
.bar i{position:absolute;top:0;height:100%;min-width:1px}.num{text-align:right;
font-variant-numeric:tabular-nums}.write{background:var(--write)}.decide{background:var(--decide)}
.search{background:var(--search)}.integrate{background:var(--integrate)}.resume{background:var(--resume)}
.key{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.85rem;margin:.4rem 0}
.key i{display:inline-block;width:.8rem;height:.8rem;margin-right:.3rem;vertical-align:-1px}
article{background:var(--card);border-left:4px solid var(--line);padding:.6rem .9rem;margin:.6rem 0}
article.got{border-left-color:var(--search)}article.failed{border-left-color:var(--warn)}
article.gone .said{text-decoration:line-through;color:var(--dim)}
.said,.text{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0}
.meter{display:inline-grid;grid-template-columns:3.2rem 7rem 3rem;gap:.4rem;align-items:center;
margin-right:1rem;font-size:.85rem}.meter span{background:var(--line);height:.5rem;display:block}
.meter b{background:var(--decide);height:100%;display:block}
details{margin:.3rem 0}summary{cursor:pointer}.passage{margin:.4rem 0 .4rem 1rem}
""".strip()


def trace_html(chain: Chain) -> str:
    """The page. Times are seconds since the chain's start."""
    title = escape(chain.question)
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{title}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{title}</h1>",
            f'<p class="answer">{escape(chain.answer) or "<em>no answer</em>"}</p>',
            _summary(chain),
            *(f'<p class="warn">{escape(warning)}</p>' for warning in chain.warnings),
            "<h2>Timeline</h2>",
            _timeline(chain),
            "<h2>Steps</h2>",
            *(_card(number, record) for number, record in enumerate(chain.steps)),
            "</body></html>",
            "",
        )
    )


def _summary(chain: Chain) -> str:
    usage, share = chain.usage, kept_share(chain)
    cached = usage.cached_tokens / usage.prompt_tokens if usage.prompt_tokens else None
    facts = {
        "status": chain.status.value,
        "steps": len(chain.steps),
        "retrievals": chain.calls,
        "there beforehand": sum(evidence.prefetched for evidence in chain.evidence),
        "tokens written": f"{usage.written_tokens} + {usage.side_tokens} aside",
        "evidence kept": "none fetched" if share is None else f"{share:.0%}",
        "prefix kept": "unknown" if cached is None else f"{cached:.0%}",
        "seconds": f"{chain.seconds:.2f}",
    }
    listed = "".join(f"<div><dt>{k}</dt><dd>{escape(str(v))}</dd></div>" for k, v in facts.items())
    return f"<dl>{listed}</dl>"


def _phases(record: StepRecord) -> dict[str, float]:
    """Seconds of each phase, in order."""
    evidence = record.evidence or Evidence("")
    seconds = (
        record.write_s,
        record.decide_s,
        evidence.search_s,
        evidence.integrate_s,
        record.resume_s,
    )
    return dict(zip(_PHASES, seconds, strict=True))


def _timeline(chain: Chain) -> str:
    ends = [r.started_s + step_seconds(r) + r.resume_s for r in chain.steps]
    whole = max([chain.seconds, *ends, 1e-9])
    rows = []
    for number, record in enumerate(chain.steps):
        at, marks = record.started_s, []
        for phase, seconds in _phases(record).items():
            if seconds > 0:
                left, width = 100 * at / whole, 100 * seconds / whole
                marks.append(
                    f'<i class="{phase}" style="left:{left:.3f}%;width:{width:.3f}%" '
                    f'title="{_NAMES[phase]} {seconds:.3f} s"></i>'
                )
            at += seconds
        rows.append(
            f'<div class="row"><a href="#step{number}">{_name(record)}</a>'
            f'<div class="bar">{"".join(marks)}</div>'
            f'<div class="num">{step_seconds(record):.2f} s</div></div>'
        )
    key = "".join(f'<span><i class="{p}"></i>{_NAMES[p]}</span>' for p in _PHASES)
    return f'<div class="key">{key}</div>{"".join(rows)}'


def _name(record: StepRecord) -> str:
    return "opening" if record.step.index < 0 else f"step {record.step.index + 1}"


def _card(number: int, record: StepRecord) -> str:
    evidence = record.evidence
    classes = []
    if evidence is not None:
        classes.append("failed" if evidence.failure else "got")
        if record.decision.discard_step and evidence.text and record.step.text:
            classes.append("gone")
    times = ", ".join(f"{_NAMES[p]} {s:.2f} s" for p, s in _phases(record).items() if s > 0)
    parts = [
        f'<article id="step{number}" class="{" ".join(classes)}">',
        f'<div class="dim">{_name(record)} · {escape(action_name(record.decision))}'
        f"{' · thrown away, written again' if 'gone' in classes else ''}"
        f" · {record.step.tokens} tokens{' · ' + times if times else ''}</div>",
    ]
    if record.step.text.strip():
        parts.append(f'<p class="said">{escape(record.step.text.strip())}</p>')
    if record.uncertainty is not None:
        parts.append(_meters(record.uncertainty))
    if evidence is not None:
        parts.append(_evidence(evidence))
    return "".join((*parts, "</article>"))


def _meters(found: Uncertainty) -> str:
    shown = {"RSUS": found.rsus, "verb": found.verb, "ent": found.ent, "cons": found.cons}
    return "".join(
        f'<div class="meter">{name}<span><b style="width:{100 * min(max(value, 0), 1):.1f}%"></b>'
        f"</span>{value:.2f}</div>"
        for name, value in shown.items()
        if value is not None
    )


def _evidence(evidence: Evidence) -> str:
    parts = [f"<div>query: <q>{escape(evidence.query)}</q></div>"]
    if evidence.failure:
        parts.append(f'<div class="warn">{escape(evidence.failure)}</div>')
    elif not evidence.passages:
        parts.append('<div class="dim">nothing found</div>')
    if evidence.text:
        kept = f"inserted: {evidence.kept_tokens} of {evidence.fetched_tokens} tokens"
        ahead = ", searched ahead" if evidence.prefetched else ""
        parts.append(
            f"<details open><summary>{kept}{ahead}</summary>"
            f'<p class="text">{escape(evidence.text)}</p></details>'
        )
    if evidence.passages:
        listed = "".join(
            f'<div class="passage"><b>{escape(p.title)}</b> <span class="dim">{escape(p.id)} · '
            f"{p.score:.2f}{' · kept' if p.id in evidence.kept_ids else ''}</span>"
            f'<p class="text">{escape(p.text)}</p></div>'
            for p in evidence.passages
        )
        parts.append(
            f"<details><summary>{len(evidence.passages)} passages</summary>{listed}</details>"
        )
    return "".join(parts)
