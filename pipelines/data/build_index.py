"""From files to an index: parts in parallel, then shards in parallel, then one move into place.

Everything unfinished lies in `.NAME.build` beside the index NAME. A build that was stopped or
killed leaves it there, and the next build of the same index goes on from it: items that are
unchanged, and shards of the same parts, are not made again.
"""

import errno
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from actors.search.engines import MESH_FILE
from actors.search.index import pubmed
from actors.search.index.manifest import Manifest, Shard
from actors.search.index.merge import Plan, check_target, plan, publish, write_shard
from actors.search.mesh import load_mesh
from pipelines.data.failures import BuildError
from pipelines.data.items import Item
from pipelines.data.kinds import Kind, PubMedKind, TrialsKind
from pipelines.data.parts import Made, make_parts
from pipelines.data.spread import Spread, spread
from pipelines.files import write_whole
from pipelines.progress import Reporter, SilentReporter

_BYTES_PER_BYTE = {".gz": 7.0, ".zip": 7.0}  # parts and shards together, for a byte of input
_BYTES_PER_PLAIN_BYTE = 1.5
_LOCK = "lock"

Extras = Callable[[Path], None]
"""Puts further files into a new index's folder."""


def build_pubmed_index(
    files: Iterable[str | Path],
    out: str | Path,
    *,
    shards: int = 1,
    workers: int | None = None,
    mesh: str | Path | None = None,
    fields: Sequence[str] = pubmed.FIELDS,
    resume: bool = True,
    reporter: Reporter | None = None,
) -> Manifest:
    """Build the index of PubMed XML and JSON lines at `out`; see `build_index`.

    Baseline and update files count in the order of their names. `mesh` is NLM's descriptor XML.
    """
    unknown = [name for name in fields if name not in pubmed.FIELDS]
    if unknown:
        known = ", ".join(pubmed.FIELDS)
        raise BuildError(f"no field {', '.join(unknown)}: PubMed records have {known}")
    extras: Extras | None = None
    if mesh is not None:
        try:
            vocabulary = load_mesh(mesh)
        except (OSError, ValueError) as err:
            raise BuildError(f"MeSH vocabulary: {err}") from err

        def extras(folder: Path) -> None:
            vocabulary.save(folder / MESH_FILE)

    kind = PubMedKind(tuple(fields))
    return build_index(
        kind, files, out, shards, workers, resume=resume, reporter=reporter, extras=extras
    )


def build_trials_index(
    files: Iterable[str | Path],
    out: str | Path,
    *,
    shards: int = 1,
    workers: int | None = None,
    resume: bool = True,
    reporter: Reporter | None = None,
) -> Manifest:
    """Build the index of ClinicalTrials.gov studies and their sites; see `build_index`."""
    from actors.search.trials.build import add_locations

    return build_index(
        TrialsKind(),
        files,
        out,
        shards,
        workers,
        resume=resume,
        reporter=reporter,
        extras=add_locations,
    )


def build_index(
    kind: Kind,
    files: Iterable[str | Path],
    out: str | Path,
    shards: int = 1,
    workers: int | None = None,
    *,
    resume: bool = True,
    reporter: Reporter | None = None,
    extras: Extras | None = None,
    address: str = "local",
) -> Manifest:
    """Build an index of `files` (or folders) at `out`, whole or not at all.

    One worker works in this process, more are Ray tasks (None: all CPUs of Ray), of which each
    reads one file or writes one shard. An index that is at `out` stays in use until the new one
    takes its place. `resume` False throws away what an interrupted build left.

    Raises `CorpusError` for input that cannot be read, `BuildError` for a full disk, machines that
    do not see the folders, another build of the same index under way, or something else at `out`.
    """
    reporter = reporter or SilentReporter()
    out = Path(out).expanduser().absolute()
    items = kind.items(files)
    try:
        check_target(out)
    except FileExistsError as err:
        raise BuildError(str(err)) from err
    work = out.parent / f".{out.name}.build"
    try:
        work.mkdir(parents=True, exist_ok=True)
        with _alone(work):
            if not resume:
                _clear(work)
            _check_disk(items, work)
            with spread(max(len(items), shards), workers, address) as run:
                run.check_sees([work, *(item.path for item in items[:1])])
                made = _parts(kind, items, work, run, reporter)
                manifest = _merged(kind, items, made, work, out, shards, run, reporter, extras)
            shutil.rmtree(work, ignore_errors=True)
    except OSError as err:
        raise BuildError(_what_to_do(err, work)) from err
    return manifest


def _what_to_do(err: OSError, work: Path) -> str:
    goes_on = f"What is done is kept in {work}; the same command goes on from it"
    if err.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{work}: {err.strerror}: free some space or give another --out. {goes_on}"
    place = err.filename or work
    return f"{place}: {err.strerror or err}. {goes_on}"


def _parts(
    kind: Kind, items: Sequence[Item], work: Path, run: Spread, reporter: Reporter
) -> list[Made]:
    made: dict[int, Made] = {}
    started = time.perf_counter()
    records = kept = 0
    with reporter.bar("reading", len(items)) as bar:
        for number, each in run.map(make_parts, (kind, work / "parts"), items):
            made[number] = each
            records += 0 if each.kept else each.records
            kept += each.kept
            rate = records / max(1e-9, time.perf_counter() - started)
            note = f"{records:,} records, {rate:,.0f}/s" + (f", {kept} files kept" if kept else "")
            bar.update(len(made), note)
    return [made[number] for number in range(len(items))]


def _merged(
    kind: Kind,
    items: Sequence[Item],
    made: Sequence[Made],
    work: Path,
    out: Path,
    shards: int,
    run: Spread,
    reporter: Reporter,
    extras: Extras | None,
) -> Manifest:
    parts = [path for each in made for path in each.paths(work / "parts")]
    corpus = items[0].name if len(items) == 1 else f"{items[0].name} to {items[-1].name}"
    try:
        planned = plan(parts, kind.schema, corpus, shards)
    except ValueError as err:
        raise BuildError(str(err)) from err
    key = hashlib.sha256(f"{shards} {[str(path) for path in parts]}".encode()).hexdigest()[:16]
    building = work / f"index-{key}"
    building.mkdir(exist_ok=True)
    written: dict[int, Shard] = {}
    with reporter.bar("writing shards", shards) as bar:
        for number, shard in run.map(_write_shard, (planned, building), range(shards)):
            written[number] = shard
            bar.update(len(written), f"{shard.records:,} records")
    if extras is not None:
        extras(building)
    done = [written[number] for number in range(shards)]
    return publish(planned, done, building, out, kind.searchable)


def _write_shard(task: tuple[Plan, Path], number: int) -> Shard:
    """Write a shard, unless an interrupted build did.

    The mark of a shard outlives it where a build was killed after its index was put in place.
    """
    planned, building = task
    marker = building.with_name(f"{building.name}.{number}.done")
    if marker.is_file():
        done = Shard(**json.loads(marker.read_text(encoding="utf-8")))
        if (building / done.name).is_dir():
            return done
    shard = write_shard(planned, number, building)
    write_whole(marker, json.dumps(asdict(shard)))
    return shard


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    path = work / _LOCK
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A build that has just ended took its folder, and this lock, away.
            alone = path.exists() and os.path.samestat(path.stat(), os.fstat(lock.fileno()))
        except BlockingIOError:
            alone = False
        if not alone:
            raise BuildError(f"{work}: another build of this index is under way")
        yield


def _clear(work: Path) -> None:
    """Throw away all but the lock."""
    for path in work.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != _LOCK:
            path.unlink()


def _check_disk(items: Sequence[Item], work: Path) -> None:
    factors = (
        (item.size(), _BYTES_PER_BYTE.get(item.path.suffix, _BYTES_PER_PLAIN_BYTE))
        for item in items
    )
    needed = int(sum(size * factor for size, factor in factors))
    there = sum(path.stat().st_size for path in work.rglob("*") if path.is_file())
    free = _free(work)
    if free + there < needed:
        raise BuildError(
            f"{work.parent}: the index and its parts will take about {needed / 1e9:.1f} GB, "
            f"{(free + there) / 1e9:.1f} GB are free: free some space or give another --out"
        )


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free
