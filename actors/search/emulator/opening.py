"""Services over indexes on disk, and the emulator of one of them as a command runs it."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

from actors.search.emulator.einfo import Database
from actors.search.emulator.eutils import EUtils
from actors.search.emulator.faults import read_faults
from actors.search.emulator.library import EngineLibrary
from actors.search.emulator.server import ServerConfig, serve
from actors.search.engine import PubMedEngine
from actors.search.engines import open_pubmed
from actors.search.index import Manifest, RecordIndex
from actors.search.mesh import load_mesh
from actors.search.trials.api import TrialsService
from actors.search.trials.build import open_trials_index

KINDS = ("pubmed", "trials")


def pubmed_service(folder: Path | str, mesh: Path | str | None = None) -> EUtils:
    """E-utilities over the index at `folder`; `mesh` is NLM's descriptor XML, for explosion.

    Raises what `open_index` and `load_mesh` raise.
    """
    manifest = Manifest.load(Path(folder))
    engine = open_pubmed(folder, mesh)
    records = (
        cast(RecordIndex, engine.index).record
        if isinstance(engine, PubMedEngine)
        else engine.record
    )
    library = EngineLibrary(engine, records, manifest.records)
    build = f"Build-{manifest.content_hash[:12]}"
    description = f"PubMed bibliographic record, of {manifest.corpus}"
    return EUtils(library, Database(manifest.records, build, description=description))


def trials_service(folder: Path | str, mesh: Path | str | None = None) -> TrialsService:
    """API v2 over the index of studies at `folder`; `mesh` is NLM's descriptor XML, for synonyms.

    Raises what `open_trials_index` and `load_mesh` raise.
    """
    return TrialsService(open_trials_index(folder), load_mesh(mesh) if mesh is not None else None)


def emulate(
    kind: str,
    folder: Path | str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    faults: Path | None = None,
    rate_limit: bool = False,
    mesh: Path | str | None = None,
    started: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve `kind` (`pubmed` or `trials`) over the index at `folder` until SIGINT or SIGTERM.

    `started` is given the URL once requests are taken. Raises ValueError, OSError or the index's
    own errors before that, each naming what is wrong.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no emulator of {kind!r}, there are {' and '.join(KINDS)}")
    plan = read_faults(faults) if faults is not None else None
    eutils = pubmed_service(folder, mesh) if kind == "pubmed" else None
    trials = trials_service(folder, mesh) if kind == "trials" else None
    config = ServerConfig(eutils, trials, host=host, port=port, rate_limit=rate_limit, faults=plan)
    serve(config, started)
