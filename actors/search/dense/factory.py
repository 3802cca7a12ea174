"""FAISS indexes by name: flat (exact), ivfpq (compressed), hnsw (graph). All by inner product.

k-means wants 39 training points a centroid (`faiss.ClusteringParameters.min_points_per_centroid`);
below, FAISS only warns and the cells are noise. Here it is an error, and what is not given is
chosen to fit.
"""

from dataclasses import asdict, dataclass
from typing import Any

import faiss
import numpy as np

from actors.search.dense.failures import DenseError, TrainingSizeError

KINDS = ("flat", "ivfpq", "hnsw")
POINTS_PER_CENTROID = 39
TRAINING_POINTS = 256  # a centroid; more than this k-means samples away
MIN_BITS, MAX_BITS = 4, 8


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """The kind of index and its settings; 0 = chosen from the vectors.

    `nlist` cells, `nprobe` of them searched; `pieces` sub-vectors of `bits` bits each (product
    quantisation); `neighbours`, `ef_construction`, `ef_search` as HNSW names them.
    """

    kind: str = "flat"
    nlist: int = 0
    nprobe: int = 0
    pieces: int = 0
    bits: int = 0
    neighbours: int = 32
    ef_construction: int = 200
    ef_search: int = 128

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DenseError(f"index kind {self.kind!r} is none of {', '.join(KINDS)}")
        for name in ("nlist", "nprobe", "pieces", "bits"):
            if getattr(self, name) < 0:
                raise DenseError(f"{name} is {getattr(self, name)}, below 0")
        for name in ("neighbours", "ef_construction", "ef_search"):
            if getattr(self, name) < 1:
                raise DenseError(f"{name} is {getattr(self, name)}, below 1")

    def settings(self) -> dict[str, int]:
        """All but the kind."""
        return {key: value for key, value in asdict(self).items() if key != "kind"}


def build(spec: IndexSpec, vectors: np.ndarray) -> Any:
    """An index of `spec` trained on `vectors` (n, dimension) float32, empty, with explicit ids.

    Raises `TrainingSizeError` where there are too few vectors for ivfpq.
    """
    dimension = vectors.shape[1]
    if spec.kind == "flat":
        return faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))
    if spec.kind == "hnsw":
        graph = faiss.IndexHNSWFlat(dimension, spec.neighbours, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = spec.ef_construction
        graph.hnsw.efSearch = spec.ef_search
        return faiss.IndexIDMap2(graph)
    return _ivfpq(spec, vectors)


def _ivfpq(spec: IndexSpec, vectors: np.ndarray) -> Any:
    count, dimension = vectors.shape
    nlist = spec.nlist or min(round(4 * count**0.5), count // POINTS_PER_CENTROID)
    bits = spec.bits or _bits(count)
    _check(count, max(nlist, 1), bits)
    pieces = spec.pieces or _pieces(dimension)
    if dimension % pieces:
        raise DenseError(f"pieces is {pieces}, which does not divide the dimension {dimension}")
    quantizer = faiss.IndexFlatIP(dimension)
    index = faiss.IndexIVFPQ(quantizer, dimension, nlist, pieces, bits, faiss.METRIC_INNER_PRODUCT)
    index.nprobe = min(spec.nprobe or max(8, nlist // 8), nlist)
    sample = vectors
    wanted = TRAINING_POINTS * max(nlist, 2**bits)
    if count > wanted:
        rows = np.random.default_rng(0).choice(count, wanted, replace=False)
        sample = vectors[np.sort(rows)]
    index.train(np.ascontiguousarray(sample))
    return index


def _check(count: int, nlist: int, bits: int) -> None:
    if not MIN_BITS <= bits <= MAX_BITS:
        raise DenseError(f"bits is {bits}, not from {MIN_BITS} to {MAX_BITS}")
    for what, centroids in (
        (f"{nlist} cells (nlist)", nlist),
        (f"{bits}-bit codes ({2**bits} centroids)", 2**bits),
    ):
        if count < POINTS_PER_CENTROID * centroids:
            raise TrainingSizeError(
                f"ivfpq with {what} needs {POINTS_PER_CENTROID * centroids:,} vectors to train, "
                f"there are {count:,}: ask for fewer, or use flat, which is exact and fast at "
                "this size"
            )


def _bits(count: int) -> int:
    """The most bits that `count` vectors train."""
    fitting = (b for b in range(MAX_BITS, MIN_BITS, -1) if count >= POINTS_PER_CENTROID * 2**b)
    return next(fitting, MIN_BITS)


def _pieces(dimension: int) -> int:
    """Pieces of four dimensions, or as near to that as divides."""
    return next(dimension // size for size in (4, 5, 6, 8, 7, 3, 2, 1) if dimension % size == 0)


def reach(spec: IndexSpec, k: int) -> Any | None:
    """Search parameters for `k` hits; None for the index's own.

    FAISS ends the walk of an HNSW graph after efSearch hits, whatever k is.
    """
    if spec.kind != "hnsw":
        return None
    faiss_: Any = faiss  # its type stubs lack the class
    return faiss_.SearchParametersHNSW(efSearch=max(spec.ef_search, k))


def exhaustive(index: Any, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(scores, labels) over every vector, whatever cells or graph there are."""
    faiss_: Any = faiss
    if isinstance(index, faiss.IndexIVF):
        params = faiss_.SearchParametersIVF(nprobe=index.nlist)
        scores, found = index.search(vectors, k, params=params)
        return scores, found
    graph = faiss_.downcast_index(index.index)
    scores, rows = faiss_.downcast_index(graph.storage).search(vectors, k)
    labels = faiss.vector_to_array(index.id_map)
    return scores, np.where(rows >= 0, labels[rows], -1)
