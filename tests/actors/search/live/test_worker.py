"""The named actor on a real Ray: one for all callers, its pacer shared."""

import threading

import pytest
import ray

from actors.search.live.worker import NAMESPACE, shared_live_worker
from actors.search.types import InfraFailure, SearchRequest
from tests.actors.search.live.corpus_server import pubmed
from tests.actors.search.live.real_server import RealServer, Reply, most_in_any_window


@pytest.mark.usefixtures("ray_local")
def test_callers_share_one_actor_and_its_pace():
    with RealServer(pubmed).running() as server:
        handles = [shared_live_worker("pubmed", server.url) for _ in range(3)]
        assert len({handle._actor_id for handle in handles}) == 1
        found: dict[int, object] = {}

        def ask(n: int) -> None:
            requests = [SearchRequest(f"n{n + 1}", 5), SearchRequest(f"n{n + 4}", 5)]
            found[n] = ray.get(handles[n].search.remote(requests))

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {n: [one.total for one in outcomes] for n, outcomes in found.items()} == {
            n: [n + 1, n + 4] for n in range(3)
        }
        starts = [call.at for call in server.calls]
        assert len(starts) == 6
        assert most_in_any_window(starts) <= 3
        server.answer = lambda call: Reply(b'{"error":"API key invalid","api-key":"x"}', 400)
        (outcome,) = ray.get(handles[0].search.remote([SearchRequest("n9", 5)]))
        assert isinstance(outcome, InfraFailure)
        assert ray.get_actor(f"pubmed@{server.url[7:]}", NAMESPACE) is not None
        ray.kill(handles[0])
