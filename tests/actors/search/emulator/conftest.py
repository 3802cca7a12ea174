"""Records, engines, and Biopython pointed at an emulator that serves them."""

from datetime import date
from pathlib import Path

import pytest
from Bio import Entrez

from actors.search.emulator.biopython import entrez_at
from actors.search.emulator.einfo import Database
from actors.search.emulator.eutils import EUtils
from actors.search.emulator.history import HistoryServer
from actors.search.emulator.library import EngineLibrary
from actors.search.emulator.server import Emulator, ServerConfig
from actors.search.engine import PubMedEngine
from actors.search.index import build_index
from actors.search.types import (
    MeshHeading,
    Record,
    SearchResult,
)

TODAY = date(2024, 6, 30)
RECORDS = (
    Record(
        id="101",
        title="Aspirin & stroke: a <randomised> trial",
        abstract_parts=(("BACKGROUND", "Aspirin may help."), ("RESULTS", 'It did, "mostly".')),
        authors=("Müller HK", "van der Berg A Jr", "Stroke Study Group"),
        full_authors=("Müller, Hans K", "van der Berg, Anna", "Stroke Study Group"),
        affiliations=("Dept of Neurology, Graz",),
        journal="The Journal of stroke research",
        journal_abbreviation="J Stroke Res",
        published=date(2020, 3, 9),
        published_precision="day",
        completed=date(2020, 6, 1),
        revised=date(2021, 1, 2),
        publication_types=("Journal Article", "Randomized Controlled Trial"),
        mesh=(
            MeshHeading("Stroke", "D020521", False, (("drug therapy", True), ("mortality", False))),
            MeshHeading("Aspirin", "D001241", True),
        ),
        chemicals=("Aspirin",),
        keywords=("secondary prevention",),
        languages=("eng",),
        references=("102", "999"),
        doi="10.1000/xyz.101",
        volume="12",
        issue="3",
        pages="11-9",
        issn="1234-5678",
        journal_id="0372433",
        country="Austria",
        status="MEDLINE",
        electronic=date(2020, 2, 1),
        entered=date(2020, 2, 2),
        created=date(2020, 2, 2),
        mesh_dated=date(2020, 6, 2),
        other_ids=(("pmc", "PMC7000001"),),
    ),
    Record(
        id="102",
        title="Warfarin in stroke.",
        abstract="Warfarin thins blood.\nIt is old.",
        authors=("Adams B",),
        journal="Acta neurologica",
        journal_abbreviation="Acta Neurol",
        published=date(2018, 1, 1),
        published_precision="year",
        publication_types=("Journal Article",),
        languages=("fre", "xyz"),
        status="PubMed-not-MEDLINE",
    ),
    Record(id="103", title="Undated note on aspirin"),
    Record(
        id="104",
        title="Migraine",
        authors=("Zed Q",),
        journal="Brain",
        published=date(2019, 5, 1),
        published_precision="month",
    ),
)


class Fragile:
    """The real engine, which breaks at the word `outage`."""

    def __init__(self, index):
        self.engine = PubMedEngine(index)

    def search(self, request):
        if "outage" in request.query:
            raise RuntimeError("index gone")
        return self.engine.search(request)


class Echo:
    """One hit, 5, and every text is the query; it keeps the last request."""

    def search(self, request):
        self.request = request
        told = tuple(f"{kind}: {request.query}" for kind in ("PhraseNotFound", "PhraseIgnored"))
        mapped = ((request.query, request.query),)
        return SearchResult(("5",)[: request.k], 1, told, request.query, mapped)

    def record(self, uid):
        if uid != "5":
            raise KeyError(uid)
        text = self.request.query
        return Record(id="5", title=text, abstract=text, authors=(text, "A B"), keywords=(text,))


@pytest.fixture(scope="session")
def library():
    index = build_index(RECORDS)
    return EngineLibrary(Fragile(index), index.record, index.size)


@pytest.fixture(scope="session")
def echo():
    engine = Echo()
    return EUtils(EngineLibrary(engine, engine.record, 1))


@pytest.fixture
def eutils(library):
    database = Database(len(RECORDS), "Build-test", "2024/06/30 00:00")
    return EUtils(library, database, HistoryServer(), today=lambda: TODAY)


@pytest.fixture(scope="session")
def echo_emulator(echo):
    with Emulator(ServerConfig(eutils=echo)) as running:
        yield running


@pytest.fixture(scope="session")
def emulator(library):
    with Emulator(ServerConfig(eutils=EUtils(library, today=lambda: TODAY))) as running:
        yield running


@pytest.fixture
def entrez(emulator, unpaced):
    """Bio.Entrez as it is but for the host that it asks."""
    with entrez_at(emulator.url, unpaced):
        yield unpaced


@pytest.fixture
def echo_entrez(echo_emulator, unpaced):
    with entrez_at(echo_emulator.url, unpaced):
        yield unpaced


@pytest.fixture
def unpaced(monkeypatch):
    monkeypatch.setattr(Entrez, "email", "someone@example.org")
    monkeypatch.setattr(Entrez, "api_key", "any")
    monkeypatch.setattr(Entrez, "max_tries", 1)
    return Entrez


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Recorded answers of the service."""
    folder = Path(__file__).parents[5] / "shared" / "data" / "fixtures" / "eutils"
    if not folder.is_dir():
        pytest.skip(f"recorded answers are not at {folder}")
    return folder
