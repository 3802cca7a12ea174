"""Every recorded answer of the real services parses, or gives the typed error that it is."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from actors.search.live.errors import ServiceError, TransientError
from actors.search.live.eutils_answers import (
    parse_articles,
    parse_info,
    parse_post,
    parse_search,
    parse_summary,
)
from actors.search.live.trials_v2 import nct_id, parse_page, parse_study, title_and_summary

FIXTURES = (
    Path(os.environ.get("SEEKRAY_SHARED_DATA", Path(__file__).parents[5] / "shared/data")).resolve()
    / "fixtures"
)
pytestmark = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason=f"no recorded answers at {FIXTURES}; set SEEKRAY_SHARED_DATA"
)
EUTILS, CTGOV = FIXTURES / "eutils", FIXTURES / "ctgov"
ERRORS = {
    "biopython/epost2.xml": "Invalid db name specified: nothing",
    "biopython/epost3.xml": "Empty ID list; Nothing to store; Some IDs have invalid value",
    "biopython/esummary8.xml": "Neither query_key nor id specified",
    "klortho/einfo.error.json": "Can not retrieve DbInfo for db=fleegle",
    "klortho/einfo.error.xml": "Can not retrieve DbInfo for db=fleegle",
    "klortho/esearch.baderror.json": "Invalid db name specified: fleegle",
    "klortho/esearch.baderror.xml": "Invalid db name specified: fleegle",
    "klortho/esummary.error.json": "Invalid db name specified: fleegle",
    "klortho/esummary.error.xml": "Invalid db name specified: fleegle",
}
PARSERS = {
    "esearch": parse_search,
    "esummary": parse_summary,
    "epost": parse_post,
    "einfo": parse_info,
}


def files(folder, *patterns):
    return [one for pattern in patterns for one in sorted(folder.glob(pattern))]


def named(path):
    return str(path.relative_to(EUTILS))


@pytest.mark.parametrize("path", files(EUTILS, *(f"*/{kind}*" for kind in PARSERS)), ids=named)
def test_eutils(path):
    kind = next(kind for kind in PARSERS if path.name.startswith(kind))
    body = path.read_bytes()
    if message := ERRORS.get(named(path)):
        with pytest.raises(ServiceError, match=message):
            PARSERS[kind](200, body)
        return
    if named(path) == "biopython/einfo4.xml":  # cut off in the middle
        with pytest.raises(TransientError, match="malformed"):
            PARSERS[kind](200, body)
        return
    answer = PARSERS[kind](200, body)
    plain = json.loads(body) if path.suffix == ".json" else ElementTree.fromstring(body)
    if kind == "esearch" and path.suffix == ".xml":
        assert answer.count == int(plain.findtext("Count"))
        assert answer.ids == tuple(one.text for one in plain.iter("Id"))
        assert answer.translation == plain.findtext("QueryTranslation")
        assert len(answer.mapped) == len(plain.findall(".//Translation"))
    elif kind == "esearch":
        assert answer.count == int(plain["esearchresult"]["count"])
        assert list(answer.ids) == plain["esearchresult"]["idlist"]
    elif kind == "esummary" and path.suffix == ".json":
        assert {*answer.documents, *answer.failed} == set(plain["result"]["uids"])
    elif kind == "esummary":
        uids = [one.text for one in plain.findall("DocSum/Id")]
        uids += [one.get("uid") for one in plain.iter("DocumentSummary")]
        assert sorted([*answer.documents, *answer.failed]) == sorted(uids)
    elif kind == "epost":
        assert (answer.query_key, answer.webenv) == ("1", plain.findtext("WebEnv"))
    else:
        assert answer.databases or (answer.name and answer.count and answer.fields)


def test_json_and_xml_of_one_answer_say_the_same():
    for kind, name in (
        ("esearch", "esearch.error"),
        ("esearch", "esearch.pubmed"),
        ("einfo", "einfo"),
        ("einfo", "einfo.pubmed"),
    ):
        of_json = PARSERS[kind](200, (EUTILS / "klortho" / f"{name}.json").read_bytes())
        of_xml = PARSERS[kind](200, (EUTILS / "klortho" / f"{name}.xml").read_bytes())
        if name == "einfo.pubmed":
            assert (of_json.name, of_json.fields[0]) == (of_xml.name, of_xml.fields[0])
            assert len(of_json.fields) == len(of_xml.fields)
        elif name != "esearch.pubmed":  # recorded at two moments
            assert of_json == of_xml
    warnings = parse_search(200, (EUTILS / "klortho/esearch.error.json").read_bytes()).warnings
    assert warnings == ("PhraseNotFound: fleegle[MeSH Terms]",)


def test_a_summary_may_fail_for_one_id():
    for suffix in ("json", "xml"):
        answer = parse_summary(200, (EUTILS / f"klortho/esummary.pmcerror.{suffix}").read_bytes())
        assert answer.failed == {"1": "cannot get document summary"}
        assert list(answer.documents) == ["254085", "14900"]


def test_efetch():
    found = {}
    for path in files(EUTILS, "metapub_efetch/*.xml", "*/efetch*.xml", "biopython/pubmed?.xml"):
        body = path.read_bytes()
        articles = parse_articles(200, body)
        root = ElementTree.fromstring(body)
        pmids = [
            one.findtext("MedlineCitation/PMID") or one.findtext("BookDocument/PMID")
            for one in root
            if one.tag != "DeleteCitation"
        ]
        assert list(articles) == [pmid.strip() for pmid in pmids], path
        assert all(title for title, _ in articles.values())
        found.update(articles)
    assert len(found) > 60
    assert sum(bool(abstract) for _, abstract in found.values()) > 40


@pytest.mark.parametrize("path", files(CTGOV, "biomcp/search*.json"), ids=lambda path: path.name)
def test_pages_of_trials(path):
    plain = json.loads(path.read_bytes())
    page = parse_page(200, path.read_bytes())
    assert page.total == plain.get("totalCount")
    assert page.next_token == plain.get("nextPageToken", "")
    assert len(page.studies) == len(plain["studies"])
    assert all(nct_id(one).startswith("NCT") for one in page.studies)


def test_single_trials():
    for path in files(CTGOV, "biomcp/get*.json", "v2_studies/*.json"):
        study = parse_study(200, path.read_bytes())
        assert nct_id(study).lower() in path.name.lower()
        assert all(title_and_summary(study))
