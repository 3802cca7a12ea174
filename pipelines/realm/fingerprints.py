"""What results of step-wise retrieval depend on, as 16 hex digits."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from actors.search.ranking.folder import read_passages_manifest
from configs.realm import RealmConfig
from pipelines.data.multihop import HopSet

SECTIONS = ("reasoner", "limits", "segment", "rsus", "evidence", "simulation")


def fingerprint(
    config: RealmConfig, hop_set: HopSet, index: Path, more: Iterable[object] = ()
) -> str:
    """Over reasoner, index, questions with their answers, all settings of chains, and the contents
    of the model folders that they name; `more` is what else a result depends on."""
    sections = asdict(config)
    for section in ("limits", "reasoner"):  # how fast, not what
        for name in ("concurrency", "threads"):
            sections[section].pop(name, None)
    depends: dict[str, Any] = {name: sections[name] for name in SECTIONS}
    depends["data"] = {name: sections["data"][name] for name in ("engine", "k", "embedder")}
    depends["seed"] = config.run.seed
    depends["index"] = read_passages_manifest(index).corpus_hash
    questions = [
        [q.id, q.text, q.answers, sorted(q.relevant), [asdict(h) for h in q.decomposition]]
        for q in hop_set.questions
    ]
    depends["questions"] = _hash(json.dumps(questions))
    depends["folders"] = [
        folder_hash(path)
        for path in (
            config.reasoner.model,
            config.segment.path,
            config.rsus.proxy,
            config.evidence.relevance_model,
            config.evidence.rewriter,
        )
    ]
    depends["more"] = [str(each) for each in more]
    return _hash(json.dumps(depends, sort_keys=True))[:16]


def folder_hash(path: str | Path) -> str:
    """Over names, sizes and, of files up to 64 MB, contents; empty where there is no folder."""
    folder = Path(path).expanduser()
    if not str(path) or not folder.is_dir():
        return ""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            size = file.stat().st_size
            digest.update(f"{file.relative_to(folder)} {size}\n".encode())
            if size <= 64 * 2**20:
                digest.update(file.read_bytes())
    return digest.hexdigest()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
