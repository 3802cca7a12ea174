import pytest

from actors.search.index import build_index
from actors.search.types import InfraFailure, QueryError, Record, SearchRequest, SearchResult
from actors.search.worker import SearchWorker


@pytest.mark.parametrize("threads", [1, 3])
def test_outcomes_in_order_and_faults_kept_apart(tmp_path, threads, monkeypatch):
    build_index([Record("1", "rat")], tmp_path / "index")
    worker = SearchWorker(tmp_path / "index", threads)
    assert worker.ping() == "ok"

    def fail(request):
        raise OSError("disk gone")

    outcomes = worker.search([SearchRequest("rat", 5), SearchRequest("()", 5)] * 3)
    assert [type(o) for o in outcomes] == [SearchResult, QueryError] * 3
    assert outcomes[0].ids == ("1",)
    real = worker._engine.plan
    monkeypatch.setattr(
        worker._engine, "plan", lambda r: fail(r) if r.query == "rat[ti]" else real(r)
    )
    failed = worker.search([SearchRequest("rat[ti]", 5), SearchRequest("rat", 5)])
    assert failed == [InfraFailure("OSError: disk gone"), outcomes[0]]
    monkeypatch.setattr(worker._engine, "plan", real)
    assert worker.search([SearchRequest("rat[ti]", 5)])[0].total == 1


def test_a_worker_without_an_index_does_not_start(tmp_path):
    with pytest.raises(FileNotFoundError):
        SearchWorker(tmp_path / "none")
