"""The emulator's answers beside recorded ones: the same elements in the same places, or fewer of
those that only some records have; and documents that the DTDs of Biopython's package allow."""

import json
import re
from pathlib import Path

import Bio.Entrez
import pytest
from lxml import etree

GHOST = 'ghostly[NoSuchField] AND "ghost phrase" AND the'


def paths(body: bytes | str, skip=frozenset()) -> set[str]:
    """The path of every element, `Name` attributes (of docsum items) standing for their element."""
    parser = etree.XMLParser(load_dtd=False, no_network=True, recover=False)
    found = set()

    def walk(node, above):
        name = node.get("Name") or node.tag
        if name in skip:
            return
        path = f"{above}/{name}"
        found.add(path)
        for child in node:
            if isinstance(child.tag, str):
                walk(child, path)

    walk(etree.fromstring(body.encode() if isinstance(body, str) else body, parser), "")
    return found


def json_paths(value, above="") -> set[str]:
    if isinstance(value, dict):
        return {above}.union(
            *(json_paths(v, f"{above}/{'*' if k.isdigit() else k}") for k, v in value.items())
        )
    if isinstance(value, list):
        return {above}.union(*(json_paths(v, above + "[]") for v in value))
    return {above}


def answer(eutils, utility, **parameters) -> bytes:
    return eutils.answer(utility, {name: str(value) for name, value in parameters.items()}).body


def doctype(body: bytes) -> str:
    return re.sub(r"\s+", " ", re.search(rb"<!DOCTYPE[^>]+>", body)[0].decode())


@pytest.mark.parametrize(
    ("recorded", "utility", "asked"),
    [
        ("esearch1", "esearch", {"term": "migraine"}),
        ("esearch2", "esearch", {"term": "stroke", "usehistory": "y"}),
        ("esearch3", "esearch", {"term": "stroke", "retstart": 1}),
        ("epost1", "epost", {"id": "101,102"}),
        ("epost2", "epost", {"db": "nothing", "id": "1"}),
        ("epost3", "epost", {"id": "-1"}),
        ("einfo1", "einfo", {}),
        ("einfo2", "einfo", {"db": "pubmed"}),
        ("esummary8", "esummary", {}),
        ("elink2", "elink", {"dbfrom": "pubmed", "id": "101"}),
    ],
)
def test_xml_answers_have_the_recorded_elements(fixtures, eutils, recorded, utility, asked):
    theirs = (fixtures / "biopython" / f"{recorded}.xml").read_bytes()
    ours = answer(eutils, utility, **asked)
    if recorded != "elink2":
        assert paths(ours) == paths(theirs)
        assert doctype(ours) == doctype(theirs)
    else:
        assert {"/eLinkResult/LinkSet/DbFrom", "/eLinkResult/LinkSet"} <= paths(theirs) & paths(
            ours
        )


def test_a_search_without_hits_has_the_recorded_elements(fixtures, eutils):
    theirs = (fixtures / "biopython" / "esearch8.xml").read_bytes()
    ours = answer(eutils, "esearch", term=GHOST)
    extra = {
        "/eSearchResult/ErrorList/FieldNotFound",
        "/eSearchResult/WarningList/PhraseIgnored",
        "/eSearchResult/WarningList/QuotedPhraseNotFound",
    }
    assert paths(ours) - paths(theirs) == extra  # all kinds at once
    assert paths(theirs) <= paths(ours)


def test_summaries_have_the_recorded_items(fixtures, eutils):
    theirs = paths((fixtures / "biopython" / "esummary1.xml").read_bytes())
    ours = paths(answer(eutils, "esummary", id="101"))
    added = {"/eSummaryResult/DocSum/DOI"} | {
        f"/eSummaryResult/DocSum/ArticleIds/{kind}" for kind in ("doi", "pmc")
    }
    assert ours - theirs == added
    assert theirs <= ours


def test_version_2_summaries_have_the_recorded_elements(fixtures, eutils):
    theirs = paths((fixtures / "klortho" / "esummary.pubmed.xml").read_bytes())
    ours = paths(answer(eutils, "esummary", id="101", version="2.0"))
    document = "/eSummaryResult/DocumentSummarySet/DocumentSummary"
    only_2012 = {f"{document}/ViewCount"}
    later = {f"{document}/VernacularTitle", "/eSummaryResult/DocumentSummarySet/DbBuild"}
    assert ours - theirs <= later
    assert {p for p in theirs - ours if "/References/" not in p} == only_2012


def test_json_answers_have_the_recorded_keys(fixtures, eutils):
    def recorded(name):
        return json.loads((fixtures / "klortho" / name).read_text())

    for name, utility, asked in (
        ("esearch.baderror.json", "esearch", {"db": "fleegle", "term": "x"}),
        ("esummary.error.json", "esummary", {"db": "fleegle", "id": 1}),
        ("einfo.error.json", "einfo", {"db": "fleegle"}),
        ("einfo.json", "einfo", {}),
    ):
        ours = json.loads(answer(eutils, utility, retmode="json", **asked))
        assert json_paths(ours) == json_paths(recorded(name)), name
    ours = json.loads(answer(eutils, "esearch", retmode="json", term="stroke", usehistory="y"))
    theirs = recorded("esearch.pubmed.json")
    del theirs["esearchresult"]["translationstack"]  # PubMed has not sent it since 2020
    assert json_paths(ours) == json_paths(theirs)
    ours = json.loads(answer(eutils, "esummary", retmode="json", id="101"))
    theirs = json_paths(recorded("esummary.pubmed.json"))
    assert {p for p in theirs - json_paths(ours) if "references[]" not in p} == {
        "/result/*/viewcount"
    }
    info = json.loads(answer(eutils, "einfo", retmode="json", db="pubmed"))["einforesult"]
    theirs = recorded("einfo.pubmed.json")["einforesult"]["dbinfo"]
    assert json_paths(theirs) <= json_paths(info["dbinfo"][0])


def test_errors_have_the_recorded_texts(fixtures, eutils):
    for name, utility, asked in (
        ("klortho/esearch.baderror.xml", "esearch", {"db": "fleegle", "term": "x"}),
        ("klortho/esummary.error.xml", "esummary", {"db": "fleegle", "id": 1}),
        ("klortho/einfo.error.xml", "einfo", {"db": "fleegle"}),
        ("biopython/epost2.xml", "epost", {"db": "nothing", "id": 1}),
        ("biopython/epost3.xml", "epost", {"id": "-1"}),
        ("biopython/esummary8.xml", "esummary", {}),
    ):
        theirs = etree.fromstring((fixtures / name).read_bytes())
        ours = etree.fromstring(answer(eutils, utility, **asked))
        assert [e.text for e in ours.iter("ERROR")] == [e.text for e in theirs.iter("ERROR")], name


def test_an_unknown_id_gives_the_recorded_empty_set(fixtures, eutils):
    theirs = (fixtures / "metapub_efetch" / "37909814.xml").read_bytes()
    ours = answer(eutils, "efetch", id="424242", retmode="xml")
    assert paths(ours) == paths(theirs) == {"/PubmedArticleSet"}
    assert doctype(ours) == doctype(theirs)


@pytest.mark.parametrize(
    ("utility", "asked", "name"),
    [
        ("efetch", {"id": "101,102,103,104", "retmode": "xml"}, "pubmed_250101.dtd"),
        ("esearch", {"term": "stroke", "usehistory": "y"}, "esearch.dtd"),
        ("esearch", {"term": GHOST}, "esearch.dtd"),
        ("esearch", {"term": "stroke", "rettype": "count"}, "esearch.dtd"),
        ("esearch", {"term": ""}, "esearch.dtd"),
        ("esummary", {"id": "101,55,103"}, "esummary-v1.dtd"),
        ("epost", {"id": "101"}, "epost.dtd"),
        ("einfo", {"db": "pubmed"}, "einfo.dtd"),
        ("einfo", {"db": "pubmed", "version": "2.0"}, "einfo.dtd"),
    ],
)
def test_documents_are_valid_by_their_dtd(eutils, utility, asked, name):
    dtd = etree.DTD(str(Path(Bio.Entrez.__file__).parent / "DTDs" / name))
    parser = etree.XMLParser(load_dtd=False, no_network=True)
    document = etree.fromstring(answer(eutils, utility, **asked), parser)
    assert dtd.validate(document), dtd.error_log.filter_from_errors()
