"""Inputs that broke other search programs in public, each at the level where a user meets it.

Named in each test: where it was reported. Real parts only: command line, engines, the emulator
behind real sockets, the live client, FAISS.
"""

import json
import threading
from dataclasses import dataclass
from datetime import date

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from actors.search.dense.factory import IndexSpec
from actors.search.dense.gpu import gpu_count
from actors.search.dense.index import DenseIndex
from actors.search.emulator.eutils import EUtils
from actors.search.emulator.library import EngineLibrary
from actors.search.emulator.opening import trials_service
from actors.search.emulator.server import Emulator, ServerConfig
from actors.search.engine import PubMedEngine
from actors.search.index import build_index
from actors.search.live.engines import LivePubMedEngine
from actors.search.live.pacing import Pacer
from actors.search.live.retry import RetryPolicy
from actors.search.trials.build import build_trials_index
from actors.search.types import QueryError, Record, SearchRequest, SearchResult
from pipelines.cli import app
from pipelines.ir.runs import ordered
from tests.actors.search.live.real_server import Call, RealServer, Reply

DAY = date(2020, 5, 17)
RECORDS = [
    Record("1", "Lecanemab in dementia", published=DAY, published_precision="day"),
    Record("2", "Cancer of the lung", published=date(2020, 5, 18), published_precision="day"),
    Record("3", "Cancer and lecanemab", published=date(2011, 1, 1), published_precision="day"),
    Record("4", "1 2 3", published=date(2011, 2, 1), published_precision="day"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("pubmed") / "index"
    build_index(RECORDS, path)
    return path


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    index = build_index(RECORDS)
    trials = tmp_path_factory.mktemp("trials") / "index"
    build_trials_index(
        [
            {"nct_id": "NCT00000001", "title": "Blinatumomab", "conditions": ["ALL"]},
            {"nct_id": "NCT00000002", "title": "Aspirin", "conditions": ["Stroke"]},
        ],
        trials,
    )
    eutils = EUtils(EngineLibrary(PubMedEngine(index), index.record, index.size))
    with Emulator(ServerConfig(eutils, trials_service(trials))) as running:
        yield running


def search(folder, query: str, *options: str) -> tuple[int, dict]:
    """Exit code and JSON of `seekray search pubmed`."""
    arguments = ["search", "pubmed", query, "--index", str(folder), "--json", *options]
    shown = CliRunner().invoke(app, arguments)
    return shown.exit_code, json.loads(shown.stdout)


def esearch(emulator, **parameters) -> dict:
    asked = {"db": "pubmed", "retmode": "json", **parameters}
    answer = httpx.post(emulator.eutils_url + "/esearch.fcgi", data=asked)
    return json.loads(answer.content)["esearchresult"]


def test_case_1_limits_of_esearch_are_errors_not_cuts(emulator):
    """biopython#4189"""
    assert esearch(emulator, term="cancer")["count"] == "2"
    beyond = esearch(emulator, term="cancer", retstart=9_999)
    assert "cannot be larger than 9998" in beyond["ERROR"]
    assert "idlist" not in beyond
    (told,) = esearch(emulator, term="cancer", retmax=20_000)["warninglist"]["outputmessages"]
    assert "adjusted to 0, 9999" in told
    live = LivePubMedEngine(emulator.eutils_url, pacer=Pacer(1000))
    with pytest.raises(ValueError, match=r"k is 20000.*10,000"):
        live.search(SearchRequest("cancer", 20_000))


def test_case_2_an_error_text_with_newlines_is_shown(emulator):
    """paperscraper#40: services send such texts raw, which is no valid JSON."""
    raw = b'{"header":{},"esearchresult":{"ERROR":"Search Backend failed:\nno\tlines"}}'

    def answer(call: Call) -> Reply:
        return Reply(raw)

    with RealServer(answer).running() as server:
        hasty = RetryPolicy(base_s=0.01, cap_s=0.02, deadline_s=2)  # such texts may be outages
        live = LivePubMedEngine(server.url, pacer=Pacer(1000), policy=hasty)
        outcome = live.search(SearchRequest("cancer", 5))
    assert not isinstance(outcome, SearchResult)
    assert "Search Backend failed:" in outcome.message
    answered = esearch(emulator, term="cancer[pdat] AND #7\n AND x")
    assert json.dumps(answered)


def test_case_3_an_unknown_field_is_reported_and_the_word_searched(folder):
    """pubmed-mcp-server#96"""
    code, row = search(folder, "lecanemab[NoSuchField]")
    assert (code, row["ids"]) == (0, ["1", "3"])
    assert row["warnings"] == ["FieldNotFound: NoSuchField"]
    assert "[All Fields]" in row["translation"]


@pytest.mark.parametrize("query", ["[pdat]", "", "   ", "()", "([pdat] : [pdat])"])
def test_case_4_a_query_without_a_term_is_blank(folder, emulator, query):
    """pubmed-mcp-server#145"""
    code, row = search(folder, query)
    assert (code, row["total"], len(row["errors"])) == (2, None, 1)
    assert "nothing to search for" in row["errors"][0] or "blank" in row["errors"][0]
    live = LivePubMedEngine(emulator.eutils_url, pacer=Pacer(1000))
    assert isinstance(live.search(SearchRequest(query, 5)), QueryError)


def test_case_5_empty_dates_count_as_absent(folder):
    """pubmed-mcp-server#14"""
    for query in ("cancer AND ([pdat] : [pdat])", "([pdat] : [pdat]) AND cancer"):
        assert search(folder, query)[1]["ids"] == ["2", "3"]


def test_case_6_a_very_long_query_arrives_unchanged():
    """biopython#2010"""
    odd = '"lung, left" + 50% #AND&maxdate=2030&db=pmc cancer'
    query = " OR ".join(f"{odd} {number}" for number in range(2_000))
    calls: list[Call] = []

    def answer(call: Call) -> Reply:
        calls.append(call)
        found = {"count": "0", "idlist": [], "querytranslation": "", "translationset": []}
        return Reply(json.dumps({"esearchresult": found}).encode())

    with RealServer(answer).running() as server:
        live = LivePubMedEngine(server.url, pacer=Pacer(1000))
        live.search(SearchRequest(query, 5, date_to=date(2024, 2, 29)))
    (call,) = calls
    assert call.method == "POST"
    assert call.query == ""
    assert call.parameters["term"] == query
    assert (call.parameters["db"], call.parameters["maxdate"]) == ("pubmed", "2024/02/29")


def test_case_7_numbers_between_operators_are_words(folder):
    """luqum#89: `1 2 AND 3 4` is 1 AND 2 AND 3 AND 4; numbers that are all of a query are ids."""
    assert (
        search(folder, "1 2 AND 3")[1]["translation"]
        == search(folder, "(1 2) AND 3")[1]["translation"]
    )
    assert search(folder, "lung cancer AND of the")[1]["ids"] == ["2"]
    assert search(folder, "1 2")[1]["ids"] == ["2", "1"]


def test_case_8_a_date_limit_holds_for_both_sides_of_or(folder, emulator):
    """bumblebee#404"""
    assert search(folder, "lung OR lecanemab AND 2020[dp]")[1]["ids"] == ["2", "1"]
    assert search(folder, "lung OR lecanemab", "--date-to", "2012-01-01")[1]["ids"] == ["3"]
    limits = {"datetype": "pdat", "mindate": "2020", "maxdate": "2020"}
    assert esearch(emulator, term="lung OR lecanemab", **limits)["idlist"] == ["2", "1"]
    live = LivePubMedEngine(emulator.eutils_url, pacer=Pacer(1000))
    outcome = live.search(SearchRequest("lung OR lecanemab", 5, date_to=date(2012, 1, 1)))
    assert isinstance(outcome, SearchResult)
    assert outcome.ids == ("3",)


def test_case_9_a_range_of_one_day_is_that_day(folder, emulator):
    """arxiv-mcp#13"""
    assert search(folder, "2020/05/17:2020/05/17[dp]")[1]["ids"] == ["1"]
    limits = {"datetype": "pdat", "mindate": "2020/05/17", "maxdate": "2020/05/17"}
    assert esearch(emulator, term="lecanemab OR cancer", **limits)["idlist"] == ["1"]


def test_case_10_all_is_everything_and_escaped_all_a_word(emulator):
    def ids(query: str) -> list[str]:
        asked = {"query.cond": query, "fields": "NCTId"}
        studies = httpx.get(emulator.trials_url + "/studies", params=asked).json()["studies"]
        return sorted(s["protocolSection"]["identificationModule"]["nctId"] for s in studies)

    assert ids("ALL") == ["NCT00000001", "NCT00000002"]
    assert ids("\\ALL") == ["NCT00000001"]


def unit(count: int, dimension: int = 8, seed: int = 0) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


KINDS = ("flat", "ivfpq", "hnsw")


@pytest.mark.parametrize("kind", KINDS)
def test_cases_11_and_15_as_many_hits_as_exist_and_none_of_padding(kind):
    """UltraRAG#517, RAGatouille#130"""
    names = [f"d{number}" for number in range(700)]
    index = DenseIndex.build(names, unit(700), IndexSpec(kind, nprobe=1, ef_search=1))
    for k in (128, 256, 700, 1000):
        (hits,) = index.search(unit(1, seed=1), k)
        assert len(hits.ids) == len(set(hits.ids)) == min(k, 700)
        assert set(hits.ids) <= set(names)


def test_case_12_ids_stay_right_through_removing_and_adding():
    """faiss#224, faiss#2409"""
    vectors = np.eye(6, dtype=np.float32)
    index = DenseIndex.build(["a", "b", "c", "d"], vectors[:4])
    index.remove(["a", "c"])
    index.add(["e", "a"], vectors[4:6])
    best = [hits.ids[0] for hits in index.search(vectors[[1, 3, 4, 5]], 1)]
    assert best == ["b", "d", "e", "a"]
    assert "c" not in index.search(vectors[2:3], 10)[0].ids


@dataclass(frozen=True)
class Passage:
    id: str
    title: str = "A title"
    text: str = "some text"


def test_case_13_an_index_of_another_corpus_is_refused_by_both_names(folder, tmp_path):
    """ReCall#90, FlashRAG#42"""
    from actors.search.ranking.failures import PassagesMismatchError
    from actors.search.ranking.folder import build_passages_index, open_engine

    build_passages_index([Passage("x")], tmp_path / "p", corpus="mine")
    with pytest.raises(PassagesMismatchError, match="mine") as refused:
        open_engine(tmp_path / "p", corpus_hash="f" * 64)
    assert "ffff" in str(refused.value)
    manifest = folder / "manifest.json"
    kept = manifest.read_text()
    shown = None
    try:
        values = json.loads(kept)
        values["records"] += 1
        manifest.write_text(json.dumps(values))
        shown = CliRunner().invoke(app, ["search", "pubmed", "cancer", "--index", str(folder)])
    finally:
        manifest.write_text(kept)
    assert shown.exit_code == 2
    assert str(folder) in shown.output.replace("\n", "")


def test_case_14_a_text_longer_than_the_window_is_cut_counted_and_reported(tmp_path):
    """qmd#265"""
    from actors.search.dense.embed import Embedder
    from actors.search.dense.engine import DenseEngine
    from actors.search.ranking.folder import build_passages_index, open_engine
    from tests.tiny_embedder import WINDOW, write_embedder

    embedder = Embedder(write_embedder(tmp_path / "tiny"), device="cpu")
    made = embedder.embed_passages(["a" * (WINDOW - 2), "a" * 50])
    assert made.truncated == 1
    build_passages_index([Passage("x")], tmp_path / "p", corpus="mine", embedder=embedder)
    engine = open_engine(tmp_path / "p", "dense", embedder=embedder)
    assert isinstance(engine, DenseEngine)
    outcome = engine.search(SearchRequest("b" * 50, 3, order="relevance", syntax="bag"))
    assert isinstance(outcome, SearchResult)
    assert outcome.ids == ("x",)
    assert len(outcome.warnings) == 1
    assert str(WINDOW) in outcome.warnings[0]


def from_many_threads(index: DenseIndex, vectors: np.ndarray) -> None:
    """Each of eight threads must get what one alone gets, while another adds and removes."""
    wanted = [hits.ids[0] for hits in index.search(vectors[:40], 1)]
    wrong: list[object] = []

    def ask() -> None:
        for _ in range(20):
            try:
                found = [hits.ids[0] for hits in index.search(vectors[:40], 1)]
            except Exception as error:
                wrong.append(error)
                return
            if found != wanted:
                wrong.append(found)

    def change() -> None:
        for _ in range(20):
            index.add(["new"], -vectors[:1])
            index.remove(["new"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    threads.append(threading.Thread(target=change))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_case_16_searched_by_many_threads_while_it_changes():
    """faiss#321, faiss#4525"""
    vectors = unit(500, 16)
    from_many_threads(DenseIndex.build([f"d{n}" for n in range(500)], vectors), vectors)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["flat", "ivfpq"])
def test_case_16_on_a_gpu(kind):
    if not gpu_count():
        pytest.skip("this FAISS build sees no GPU: install faiss-gpu")
    vectors = unit(1000, 16)
    spec = IndexSpec(kind, nprobe=1000)
    index = DenseIndex.build([f"d{n}" for n in range(1000)], vectors, spec, gpu=0)
    from_many_threads(index, vectors)


def test_case_17_ties_by_score_are_ordered_by_id_descending():
    """trec_eval#22"""
    assert [name for name, _ in ordered([("a", 1.0), ("c", 1.0), ("b", 2.0), ("d", 1.0)])] == [
        "b", "d", "c", "a",
    ]  # fmt: skip
    index = DenseIndex.build(["a", "c", "b"], np.tile(np.float32([[1, 0]]), (3, 1)))
    assert index.search(np.float32([[1, 0]]), 2)[0].ids == ("c", "b")
