"""Records, a small engine, and Biopython pointed at an emulator that serves them."""

import re
import urllib.request
from datetime import date
from pathlib import Path

import pytest
from Bio import Entrez

from actors.search.emulator.einfo import Database
from actors.search.emulator.eutils import EUtils
from actors.search.emulator.history import HistoryServer
from actors.search.emulator.library import EngineLibrary
from actors.search.emulator.server import Emulator, ServerConfig
from actors.search.types import (
    MeshHeading,
    QueryError,
    Record,
    SearchRequest,
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


class SmallEngine:
    """Words joined by AND, OR, NOT from left to right with brackets; `#n`, ids and date ranges.

    A word `brokenquery` is a query error and `outage` a failure; `ghost` is not found, and says so.
    """

    def search(self, request: SearchRequest):
        if "outage" in request.query:
            raise RuntimeError("index gone")
        if "brokenquery" in request.query:
            return QueryError('no closing "quote"\nin the query', request.query, 0)
        tokens = re.findall(r"[()]|[^\s()]+", request.query)
        found = self._read(tokens, request.history)
        ids = sorted(found, key=lambda uid: (_day(uid), uid), reverse=True)
        warnings, mapped = [], []
        if "ghost" in request.query:
            warnings += ["PhraseNotFound: ghost", "FieldNotFound: NoSuchField"]
            warnings += ['QuotedPhraseNotFound: "ghost"', "PhraseIgnored: the"]
        if "stroke" in request.query:
            mapped.append(("stroke", '"stroke"[MeSH Terms] OR "stroke"[All Fields]'))
        return SearchResult(
            ids=tuple(ids[: request.k]),
            total=len(ids),
            warnings=tuple(warnings),
            translation=f'"{request.query}"[All Fields]',
            mapped=tuple(mapped),
        )

    def _read(self, tokens, history):
        found, operator = None, "AND"
        while tokens:
            token = tokens.pop(0)
            if token == ")":
                break
            if token in ("AND", "OR", "NOT"):
                operator = token
                continue
            one = self._read(tokens, history) if token == "(" else self._atom(token, history)
            if found is None:
                found = one
            elif operator == "OR":
                found = found | one
            else:
                found = found - one if operator == "NOT" else found & one
            operator = "OR" if token.isdigit() and tokens[:1] and tokens[0].isdigit() else "AND"
        return found or set()

    def _atom(self, token, history):
        if token.startswith("#"):
            return self._read(re.findall(r"[()]|[^\s()]+", history[int(token[1:]) - 1]), history)
        if token.isdigit():
            return {r.id for r in RECORDS if r.id == token}
        if dates := re.fullmatch(r"([\d/]+):([\d/]+)\[\w+\]", token):
            low, high = dates[1], dates[2] + "~"
            days = {r.id: f"{r.published:%Y/%m/%d}" for r in RECORDS if r.published}
            return {uid for uid, day in days.items() if low <= day < high}
        word = token.split("[")[0].strip('"').lower()
        texts = {r.id: f"{r.title} {r.abstract} {r.abstract_parts}".lower() for r in RECORDS}
        return {uid for uid, text in texts.items() if word in re.findall(r"\w+", text)}


def _day(uid: str) -> date:
    return next(r.published or date.min for r in RECORDS if r.id == uid)


@pytest.fixture(scope="session")
def library():
    by_id = {record.id: record for record in RECORDS}
    return EngineLibrary(SmallEngine(), by_id.__getitem__, len(RECORDS))


@pytest.fixture
def eutils(library):
    database = Database(len(RECORDS), "Build-test", "2024/06/30 00:00")
    return EUtils(library, database, HistoryServer(), today=lambda: TODAY)


@pytest.fixture(scope="session")
def emulator(library):
    with Emulator(ServerConfig(eutils=EUtils(library, today=lambda: TODAY))) as running:
        yield running


@pytest.fixture
def entrez(emulator, monkeypatch):
    """Bio.Entrez unchanged but for the host that it asks."""

    def here(request, *args, **kwargs):
        url = request.full_url.replace("https://eutils.ncbi.nlm.nih.gov", emulator.url)
        assert url.startswith(emulator.url)
        moved = urllib.request.Request(url, request.data, dict(request.headers))
        return urllib.request.urlopen(moved, *args, **kwargs)

    monkeypatch.setattr(Entrez, "urlopen", here)
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
