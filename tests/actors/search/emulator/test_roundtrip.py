"""Records through the emulator's XML and back, and requests of every kind of nonsense."""

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from actors.search.emulator.pubmed_xml import article
from actors.search.pubmed_record import record_of, records_of
from actors.search.types import Record


def again(record: Record) -> Record:
    return record_of(etree.fromstring(article(record)))


def test_real_records_come_back_as_they_were(fixtures):
    records = [
        record
        for path in sorted((fixtures / "metapub_efetch").glob("*.xml"))
        for record in records_of(path.read_bytes())
    ]
    assert len(records) > 50
    wrong = {}
    for record in records:
        back = again(record)
        for name in Record.__slots__:
            if getattr(back, name) != getattr(record, name):
                wrong.setdefault(name, []).append(
                    (record.id, getattr(record, name), getattr(back, name))
                )
    assert wrong == {}


def test_own_records_come_back():
    record = Record(
        id="7",
        title="A <b> & c",
        abstract="x < y & z",
        authors=("Müller HK", "Some Group"),
        full_authors=("Müller, Hans K", "Some Group"),
        languages=("eng",),
        publication_types=("Review",),
        status="Publisher",
    )
    back = again(record)
    assert replace(back, journal_abbreviation="") == record


names = st.sampled_from(
    "db term id retmode rettype retmax retstart WebEnv query_key sort field mindate maxdate "
    "reldate datetype usehistory version cmd".split()
)
values = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["pubmed", "json", "xml", "text", "medline", "count", "y", "0", "1", "9999"]),
)


@settings(max_examples=400, deadline=None)
@given(
    utility=st.sampled_from(["esearch", "efetch", "esummary", "epost", "einfo", "elink"]),
    parameters=st.dictionaries(names, values, max_size=6),
)
def test_whatever_is_asked_is_answered_in_its_format(echo, utility, parameters):
    echo.answer("esearch", {"term": parameters.get("term", "x")})
    for asked in (parameters, parameters | {"db": "pubmed", "id": "5"}):
        response = echo.answer(utility, asked)
        assert response.status in (200, 400)
        if response.content_type.startswith("application/json"):
            json.loads(response.body)
        elif response.content_type.startswith("text/xml"):
            etree.fromstring(response.body, etree.XMLParser(load_dtd=False, no_network=True))
        else:
            response.body.decode()
