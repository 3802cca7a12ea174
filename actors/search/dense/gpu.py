"""A copy of an index on a GPU, whose resources serve one caller at a time (`DenseIndex` locks)."""

from typing import Any

import faiss
import numpy as np

from actors.search.dense.failures import DenseError

MAX_K = 2048
"""What the GPU selection kernels return at most."""


def gpu_count() -> int:
    """Number of GPUs that this FAISS build sees; 0 for faiss-cpu."""
    return int(faiss.get_num_gpus()) if hasattr(faiss, "StandardGpuResources") else 0


class GpuCopy:
    """Searches as the CPU index does. HNSW has no GPU form and is refused."""

    def __init__(self, index: Any, device: int = 0) -> None:
        inner, self._labels = index, None
        if isinstance(index, faiss.IndexIDMap):
            inner = faiss.downcast_index(index.index)
            self._labels = faiss.vector_to_array(index.id_map).copy()
        if isinstance(inner, faiss.IndexHNSW):
            raise DenseError("hnsw does not run on a GPU: use flat or ivfpq, or device cpu")
        if not 0 <= device < gpu_count():
            raise DenseError(f"GPU {device} was asked for, FAISS sees {gpu_count()}")
        self._resources = faiss.StandardGpuResources()
        self._index = faiss.index_cpu_to_gpu(self._resources, device, inner)

    def search(self, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """(scores, labels), both (n, k); -1 labels are padding."""
        scores, rows = self._index.search(vectors, k)
        if self._labels is None:
            return scores, rows
        labels = np.full_like(rows, -1)
        found = rows >= 0
        labels[found] = self._labels[rows[found]]
        return scores, labels
