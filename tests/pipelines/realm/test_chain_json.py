import json
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from actors.rollout.sessions.types import Usage
from pipelines.realm.chain_json import action_name, chain_json, kept_share, trace_json
from pipelines.realm.trace_html import trace_html
from pipelines.realm.types import (
    GO_ON,
    Chain,
    Decision,
    Evidence,
    Formulation,
    Integration,
    Passage,
    Status,
    Step,
    StepRecord,
    Uncertainty,
)


def chain_of(text: str = "It is Rome.", **changed: object) -> Chain:
    passages = (Passage("p1", f"T{text}", f"P{text}", 2.5), Passage("p2", "Spain", "Madrid.", 1.0))
    found = Evidence("q1", passages, text, ("p1",), 40, 10, 0.25, 0.125, prefetched=True)
    down = Evidence(text, failure=text, search_s=0.5)
    records = (
        StepRecord(
            Step(0, text, 5),
            Decision(True, Formulation.GAP, Integration.WHOLE),
            Uncertainty(0.7, 0.5, 1.0, None, 0.1, 6),
            found,
            write_s=1.0,
            decide_s=0.5,
            resume_s=0.0625,
        ),
        StepRecord(Step(1, "So.", 2), Decision(True, query=text), None, down, 2.0, 0.5, 0.25),
        StepRecord(Step(2, "So the answer is: Rome.", 7), GO_ON, None, None, 3.25, 0.75, 0.0),
    )
    usage = Usage(3, 100, 60, 20, 6, [0.1])
    fields: dict = {
        "question_id": "id", "question": text, "answer": text, "status": Status.ANSWERED,
        "steps": records, "text": text, "usage": usage, "seconds": 4.0, "warnings": (text,),
    }  # fmt: skip
    return Chain(**(fields | changed))


def test_the_json_of_a_chain() -> None:
    assert chain_json(chain_of()) == {
        "answer": "It is Rome.",
        "steps": [
            {
                "text": "It is Rome.", "rsus": 0.7, "u_verb": 0.5, "u_ent": 1.0, "u_cons": None,
                "action": "retrieve:gap:whole", "query": "q1", "evidence_ids": ["p1"],
                "seconds": 1.875,
            },
            {
                "text": "So.", "rsus": None, "u_verb": None, "u_ent": None, "u_cons": None,
                "action": "retrieve:given:sentences", "query": "It is Rome.", "evidence_ids": [],
                "seconds": 1.25,
            },
            {
                "text": "So the answer is: Rome.", "rsus": None, "u_verb": None, "u_ent": None,
                "u_cons": None, "action": "go_on", "query": None, "evidence_ids": [],
                "seconds": 0.75,
            },
        ],
        "calls": 2,
        "tokens": 26,
        "cache_hits": 1,
        "kept_share": 0.25,
        "seconds": 4.0,
    }  # fmt: skip


def test_a_chain_of_nothing_has_no_share() -> None:
    chain = chain_of(steps=(), seconds=0.0)
    assert kept_share(chain) is None
    assert chain_json(chain)["kept_share"] is None
    assert trace_html(chain)


def test_the_trace_holds_everything() -> None:
    trace = trace_json(chain_of())
    assert json.loads(json.dumps(trace)) == trace
    assert (trace["status"], trace["warnings"]) == ("answered", ["It is Rome."])
    assert trace["usage"]["cached_tokens"] == 60
    first, second, third = trace["steps"]
    assert first["evidence"]["passages"][0]["id"] == "p1"
    assert (first["rsus_seconds"], first["rsus_tokens"]) == (0.1, 6)
    assert second["evidence"]["failure"] == "It is Rome."
    assert third["evidence"] is None
    assert set(chain_json(chain_of())) < set(trace)


def test_actions_have_names() -> None:
    assert action_name(GO_ON) == "go_on"
    assert action_name(Decision(True, Formulation.ENTITY)) == "retrieve:entity:sentences"
    assert action_name(Decision(True, query="x")) == "retrieve:given:sentences"


class Reader(HTMLParser):
    """Checks that tags close in order; keeps the text and every tag with its attributes."""

    VOID = frozenset(("meta", "br", "link", "img"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "dl", "div", "dt", "dd", "i",
    "a", "span", "article", "b", "q", "details", "summary", "em",
}  # fmt: skip


def test_the_page_shows_steps_decisions_and_times() -> None:
    reader = read(trace_html(chain_of()))
    for shown in ("retrieve:gap:whole", "go_on", "10 of 40 tokens, searched ahead", "0.70",
                  "search 0.50 s", "60%", "25%"):  # fmt: skip
        assert shown in reader.text, shown
    bars = [attrs for tag, attrs in reader.tags if tag == "i" and "style" in attrs]
    # The first step has all phases, the last one was only written.
    assert [attrs["class"] for attrs in bars] == [
        *("write", "decide", "search", "integrate", "resume"),
        *("write", "decide", "search"),
        "write",
    ]
    assert bars[5]["style"] == "left:50.000%;width:12.500%"  # 2.0 and .5 of 4 seconds


@given(st.text(alphabet="<>&\"'/ scriptimgonerror=\n\x00é", max_size=30))
def test_text_of_others_is_text_on_the_page(text: str) -> None:
    reader = read(trace_html(chain_of(text)))
    assert {tag for tag, _ in reader.tags} <= TAGS
    names = {name for _, attrs in reader.tags for name in attrs}
    allowed = {
        "lang",
        "charset",
        "name",
        "content",
        "class",
        "id",
        "href",
        "style",
        "title",
        "open",
    }
    assert names <= allowed
    assert not any("//" in (v or "") for _, a in reader.tags for v in a.values())


def test_hostile_text_does_no_harm() -> None:
    page = trace_html(chain_of("<script>alert(1)</script>\"><img src=x onerror='x'>"))
    assert "<script" not in page
    assert "<img" not in page
    assert "http" not in page  # nothing is fetched
