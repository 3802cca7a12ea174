"""Pooled passages to an index folder, as `seekray index build passages` writes one."""

from pathlib import Path
from typing import TYPE_CHECKING

from actors.search.ranking.analysis import Analysis
from actors.search.ranking.folder import PassagesManifest, build_passages_index
from pipelines.data.multihop import HopSet
from pipelines.progress import Reporter, SilentReporter

if TYPE_CHECKING:
    from actors.search.dense.embed import Embedder
    from actors.search.dense.factory import IndexSpec


def build_hop_index(
    hop_set: HopSet,
    folder: str | Path,
    *,
    embedder: "Embedder | None" = None,
    spec: "IndexSpec | None" = None,
    analysis: Analysis | None = None,
    vectors_cache: str | Path | None = None,
    reporter: Reporter | None = None,
) -> PassagesManifest:
    """Builds what `folder` still lacks: the lexical index and, with an `embedder`, a dense one.

    A folder that is whole is left as it is. Vectors are kept in `vectors_cache`, where one is
    given. Raises `PassagesMismatchError` for a folder with an index of other passages,
    `PassagesError` and `DenseError` for what else cannot be built.
    """
    with (reporter or SilentReporter()).bar(
        f"indexing {hop_set.name}", len(hop_set.passages)
    ) as bar:
        manifest = build_passages_index(
            hop_set.passages,
            folder,
            corpus=hop_set.name,
            analysis=analysis,
            embedder=embedder,
            spec=spec,
            vectors_cache=vectors_cache,
            progress=lambda done, _: bar.update(done, "embedding"),
        )
        bar.update(len(hop_set.passages))
    return manifest
