"""Names, order and completeness of dense hits, against numpy."""

import threading

import numpy as np
import pytest

from actors.search.dense.factory import IndexSpec
from actors.search.dense.failures import DenseError, RemovalError, TrainingSizeError
from actors.search.dense.gpu import gpu_count
from actors.search.dense.index import DenseIndex
from actors.search.dense.manifest import DenseManifest

ABOUT = DenseManifest("c", "h" * 64, "m", "f" * 16)
KINDS = ("flat", "ivfpq", "hnsw")


def clustered(count, dimension=32, seed=0):
    """Unit vectors around sixty centres, as embeddings lie."""
    centres = np.random.default_rng(99).normal(size=(60, dimension))
    draw = np.random.default_rng(seed)
    made = centres[draw.integers(60, size=count)] + 0.5 * draw.normal(size=(count, dimension))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def names(count, first=0):
    return [f"d{number}" for number in range(first, first + count)]


def oracle(ids, vectors, query, k):
    """Brute force: score descending, ties by id descending."""
    scores = vectors @ query
    return sorted(ids, key=lambda id: (scores[ids.index(id)], id), reverse=True)[:k]


@pytest.fixture(scope="module")
def corpus():
    return names(1500), clustered(1500)


@pytest.mark.parametrize("kind", KINDS)
def test_more_hits_asked_than_exist_gives_all_of_them(corpus, kind):
    ids, vectors = corpus
    index = DenseIndex.build(ids, vectors, IndexSpec(kind, nprobe=1, ef_search=1))
    for k in (len(ids), len(ids) + 500):
        (hits,) = index.search(vectors[:1], k)
        assert sorted(hits.ids) == sorted(ids)
        assert list(hits.scores) == sorted(hits.scores, reverse=True)


@pytest.mark.parametrize("kind", KINDS)
def test_k_hits_are_returned_where_k_exist(corpus, kind):
    ids, vectors = corpus
    index = DenseIndex.build(ids, vectors, IndexSpec(kind, nprobe=1, ef_search=1))
    for k in (0, 1, 128, 700):
        assert [len(hits.ids) for hits in index.search(vectors[:5], k)] == [k] * 5
        assert all(len(set(hits.ids)) == k for hits in index.search(vectors[:5], k))


def test_flat_is_exact(corpus):
    ids, vectors = corpus
    index = DenseIndex.build(ids, vectors)
    for query, hits in zip(vectors[:20], index.search(vectors[:20], 10), strict=True):
        assert list(hits.ids) == oracle(ids, vectors, query, 10)
        assert hits.scores[0] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(("kind", "first", "ten"), [("hnsw", 0.99, 0.98), ("ivfpq", 0.95, 0.72)])
def test_recall_against_flat(kind, first, ten):
    """`first`: the best of all is among the ten found. `ten`: share of the ten best found."""
    vectors, ids = clustered(4000), names(4000)
    queries = clustered(100, seed=1)
    exact = DenseIndex.build(ids, vectors).search(queries, 10)
    found = DenseIndex.build(ids, vectors, IndexSpec(kind, pieces=16)).search(queries, 10)
    pairs = list(zip(exact, found, strict=True))
    assert np.mean([a.ids[0] in b.ids for a, b in pairs]) >= first
    assert np.mean([len(set(a.ids) & set(b.ids)) / 10 for a, b in pairs]) >= ten


def test_ties_are_by_id_descending_even_across_the_last_place():
    vectors = np.tile(np.array([[1.0, 0.0]], np.float32), (40, 1))
    ids = names(40)
    index = DenseIndex.build(ids, vectors)
    (hits,) = index.search(vectors[:1], 5)
    assert hits.ids == ("d9", "d8", "d7", "d6", "d5")  # as strings, so d9 before d39


@pytest.mark.parametrize("kind", ["flat", "ivfpq"])
def test_names_stay_right_through_removing_and_adding(corpus, kind, tmp_path):
    ids, vectors = corpus
    index = DenseIndex.build(ids, vectors, IndexSpec(kind, nprobe=1000))
    gone = ids[10:400:3]
    index.remove(gone)
    more = clustered(50, seed=2)
    index.add(names(50, first=5000), more)
    index.add(gone[:5], vectors[[10, 13, 16, 19, 22]])  # a name that comes back

    def check(index):
        assert len(index) == 1500 - len(gone) + 50 + 5
        (everything,) = index.search(vectors[:1], 10_000)
        assert set(everything.ids) == (set(ids) - set(gone[5:])) | set(names(50, first=5000))
        queries = np.concatenate([more[:20], vectors[[10, 13, 500]]])
        wanted = [*names(20, first=5000), "d10", "d13", "d500"]
        found = index.search(queries, 3)
        assert [id in hits.ids for id, hits in zip(wanted, found, strict=True)].count(False) <= (
            0 if kind == "flat" else 4
        )

    check(index)
    index.save(tmp_path / "x", ABOUT)
    check(DenseIndex.open(tmp_path / "x"))
    check(DenseIndex.open(tmp_path / "x", mmap=True))


def test_hnsw_adds_but_says_that_it_cannot_remove(corpus):
    ids, vectors = corpus
    index = DenseIndex.build(ids, vectors, IndexSpec("hnsw"))
    index.add(["new"], -vectors[:1])
    assert index.search(-vectors[:1], 1)[0].ids == ("new",)
    with pytest.raises(RemovalError, match="build it again"):
        index.remove(["new"])
    assert index.search(-vectors[:1], 1)[0].ids == ("new",)


def test_bad_ids_and_shapes_change_nothing(corpus):
    ids, vectors = corpus
    index = DenseIndex.build(ids, vectors)
    for call, words in [
        (lambda: index.add(["d3"], vectors[:1]), "'d3' is in the index already"),
        (lambda: index.add(["x", "x"], vectors[:2]), "'x' is in the index already, or twice"),
        (lambda: index.add(["x"], vectors[:2]), "1 ids for 2 vectors"),
        (lambda: index.add(["x"], vectors[:1, :7]), "7 dimensions, the index has 32"),
        (lambda: index.add(["x"], vectors[:1] * np.nan), "vector 0 is not finite"),
        (lambda: index.remove(["d1", "nobody"]), "'nobody' is not in the index"),
        (lambda: index.search(vectors[0], 3), "wanted"),
        (lambda: index.search(vectors[:1], -1), "k is -1"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
    assert len(index) == 1500
    assert "d1" in index


def test_too_few_vectors_to_train_are_refused_with_the_number_needed():
    with pytest.raises(TrainingSizeError, match=r"needs 624 vectors to train, there are 600"):
        DenseIndex.build(names(600), clustered(600), IndexSpec("ivfpq"))
    with pytest.raises(TrainingSizeError, match=r"100 cells.*needs 3,900.*there are 1,000"):
        DenseIndex.build(names(1000), clustered(1000), IndexSpec("ivfpq", nlist=100))


def test_settings_are_checked():
    for spec, words in [
        ({"kind": "annoy"}, "'annoy' is none of flat, ivfpq, hnsw"),
        ({"kind": "ivfpq", "nlist": -1}, "nlist is -1"),
        ({"kind": "hnsw", "neighbours": 0}, "neighbours is 0"),
    ]:
        with pytest.raises(DenseError, match=words):
            IndexSpec(**spec)
    with pytest.raises(DenseError, match="pieces is 5, which does not divide the dimension 32"):
        DenseIndex.build(names(1000), clustered(1000), IndexSpec("ivfpq", pieces=5))


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_opened_is_the_same(corpus, kind, tmp_path):
    ids, vectors = corpus
    index = DenseIndex.build(ids, vectors, IndexSpec(kind))
    wanted = index.search(vectors[:50], 20)
    manifest = index.save(tmp_path / "x", ABOUT)
    assert (manifest.count, manifest.dimension, manifest.kind) == (1500, 32, kind)
    for mmap in (False, True):
        opened = DenseIndex.open(tmp_path / "x", mmap=mmap)
        assert opened.search(vectors[:50], 20) == wanted
        assert opened.spec == index.spec
    with pytest.raises(DenseError, match="memory-mapped"):
        opened.add(["new"], vectors[:1])


def test_saving_again_replaces_and_leaves_no_old_files(corpus, tmp_path):
    ids, vectors = corpus
    index = DenseIndex.build(ids, vectors)
    index.save(tmp_path, ABOUT)
    mapped = DenseIndex.open(tmp_path, mmap=True)
    index.remove(ids[:1000])
    index.save(tmp_path, ABOUT)
    assert len(list(tmp_path.iterdir())) == 3
    assert len(DenseIndex.open(tmp_path)) == 500
    assert mapped.search(vectors[:1], 1)[0].ids == ("d0",)  # who has the old one open keeps it


def test_damage_is_named(corpus, tmp_path):
    ids, vectors = corpus
    index = DenseIndex.build(ids, vectors)
    manifest = index.save(tmp_path, ABOUT)
    (tmp_path / manifest.ids).write_text("[]")
    with pytest.raises(DenseError, match="manifest says 1500 vectors"):
        DenseIndex.open(tmp_path)
    with (tmp_path / manifest.vectors).open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(DenseError, match="is damaged"):
        DenseIndex.open(tmp_path)
    with pytest.raises(DenseError, match="is no dense index"):
        DenseIndex.open(tmp_path / "elsewhere")


def test_searching_while_another_thread_adds_and_removes(corpus):
    ids, vectors = corpus
    index = DenseIndex.build(ids, vectors)
    extra = clustered(20, seed=3)
    stop = threading.Event()
    wrong: list[object] = []

    def read():
        while not stop.is_set():
            (hits,) = index.search(vectors[7:8], 5)
            if hits.ids[0] != "d7" or len(hits.ids) != 5:
                wrong.append(hits)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        index.add(names(20, first=9000), extra)
        index.remove(names(20, first=9000))
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(index) == 1500


@pytest.mark.skipif(gpu_count() > 0, reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused(corpus):
    with pytest.raises(DenseError, match="GPU 0 was asked for, FAISS sees 0"):
        DenseIndex.build(*corpus, gpu=0)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["flat", "ivfpq"])
def test_the_gpu_gives_what_the_cpu_gives_from_several_threads(kind):
    if not gpu_count():
        pytest.skip("this FAISS build sees no GPU (faiss-gpu is needed)")
    vectors, ids = clustered(12_000), names(12_000)
    index = DenseIndex.build(ids, vectors, IndexSpec(kind))
    wanted = [set(hits.ids) for hits in index.search(vectors[:200], 50)]
    on_gpu = DenseIndex(index._index, index._names, index.spec, gpu=0)
    shares: list[float] = []

    def read(start):
        for place in range(start, 200, 4):
            (hits,) = on_gpu.search(vectors[place : place + 1], 50)
            shares.append(len(set(hits.ids) & wanted[place]) / 50)

    threads = [threading.Thread(target=read, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shares) == 200
    assert np.mean(shares) > 0.98
    on_gpu.remove(ids[:100])
    on_gpu.add(["new"], -vectors[:1])
    assert on_gpu.search(-vectors[:1], 1)[0].ids == ("new",)
    assert not set(on_gpu.search(vectors[:1], 3000)[0].ids) & set(ids[:100])


@pytest.mark.gpu
def test_hnsw_is_refused_on_a_gpu():
    if not gpu_count():
        pytest.skip("this FAISS build sees no GPU (faiss-gpu is needed)")
    with pytest.raises(DenseError, match="hnsw does not run on a GPU"):
        DenseIndex.build(names(500), clustered(500), IndexSpec("hnsw"), gpu=0)
