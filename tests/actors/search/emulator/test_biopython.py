"""Bio.Entrez and Bio.Medline, as they come, against the emulator over a real socket."""

import io
import re
from urllib.error import HTTPError

import pytest
from Bio import Medline

GHOST = 'ghostly[NoSuchField] AND "ghost phrase" AND the'


def read(entrez, handle):
    with handle:
        return entrez.read(handle, validate=True)


def test_search_gives_counts_ids_and_translation(entrez):
    found = read(entrez, entrez.esearch(db="pubmed", term="stroke"))
    assert found["Count"] == "2"
    assert found["RetMax"] == "2"
    assert found["RetStart"] == "0"
    assert found["IdList"] == ["101", "102"]
    assert found["TranslationSet"] == [
        {"From": "stroke", "To": '"stroke"[MeSH Terms] OR "stroke"[All Fields]'}
    ]
    assert found["QueryTranslation"] == '"stroke"[MeSH Terms] OR "stroke"[All Fields]'
    assert "WebEnv" not in found


def test_search_pages(entrez):
    term = "stroke OR migraine OR aspirin"
    whole = read(entrez, entrez.esearch(db="pubmed", term=term))
    page = read(entrez, entrez.esearch(db="pubmed", term=term, retstart=1, retmax=2))
    assert whole["IdList"] == ["101", "104", "102", "103"]
    assert page["IdList"] == ["104", "102"]
    assert (page["Count"], page["RetMax"], page["RetStart"]) == ("4", "2", "1")


def test_search_reports_what_was_not_found(entrez):
    found = read(entrez, entrez.esearch(db="pubmed", term=GHOST))
    assert found["Count"] == "0"
    assert found["IdList"] == []
    assert found["ErrorList"] == {
        "PhraseNotFound": ["ghostly", "ghost", "phrase"],
        "FieldNotFound": ["NoSuchField"],
    }
    assert found["WarningList"] == {
        "PhraseIgnored": ["the"],
        "QuotedPhraseNotFound": ['"ghost phrase"'],
        "OutputMessage": ["No items found."],
    }


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"db": "fleegle", "term": "x"}, "Invalid db name specified: fleegle"),
        ({"db": "pubmed", "term": " "}, "Empty term and query_key - nothing todo"),
        ({"db": "pubmed", "term": "[pdat]"}, "the query is blank"),
        ({"db": "pubmed", "term": "x", "retstart": "9999"}, "cannot be larger than 9998"),
    ],
)
def test_search_errors_are_raised_by_the_client(entrez, asked, message):
    with pytest.raises(RuntimeError, match=re.escape(message)):
        read(entrez, entrez.esearch(**asked))


def test_an_outage_is_a_server_error_and_not_an_empty_result(entrez):
    with pytest.raises(HTTPError) as caught:
        entrez.esearch(db="pubmed", term="outage")
    assert caught.value.code == 500


def test_history_carries_a_search_to_fetch_and_to_later_searches(entrez):
    first = read(entrez, entrez.esearch(db="pubmed", term="stroke", usehistory="y", retmax=0))
    assert (first["QueryKey"], first["IdList"]) == ("1", [])
    kept = {"webenv": first["WebEnv"], "query_key": "1"}
    fetched = read(entrez, entrez.efetch(db="pubmed", retmode="xml", **kept))
    assert [str(a["MedlineCitation"]["PMID"]) for a in fetched["PubmedArticle"]] == ["101", "102"]
    second = read(
        entrez,
        entrez.esearch(db="pubmed", term="#1 AND warfarin", WebEnv=first["WebEnv"], usehistory="y"),
    )
    assert (second["QueryKey"], second["WebEnv"]) == ("2", first["WebEnv"])
    assert second["IdList"] == ["102"]
    both = read(
        entrez,
        entrez.esearch(db="pubmed", term="aspirin", WebEnv=first["WebEnv"], query_key="1"),
    )
    assert both["IdList"] == ["101"]


def test_post_then_summary_and_search_within_the_posted(entrez):
    posted = read(entrez, entrez.epost("pubmed", id="104,102,104"))
    assert posted["QueryKey"] == "1"
    kept = {"webenv": posted["WebEnv"], "query_key": posted["QueryKey"]}
    summaries = read(entrez, entrez.esummary(db="pubmed", **kept))
    assert [s["Id"] for s in summaries] == ["104", "102"]
    within = read(
        entrez,
        entrez.esearch(db="pubmed", term="warfarin", WebEnv=posted["WebEnv"], query_key="1"),
    )
    assert within["IdList"] == ["102"]


def test_fetched_xml_has_every_field_of_the_record(entrez):
    fetched = read(entrez, entrez.efetch(db="pubmed", id="101", retmode="xml"))
    (article,) = fetched["PubmedArticle"]
    citation, data = article["MedlineCitation"], article["PubmedData"]
    inner = citation["Article"]
    assert inner["ArticleTitle"] == "Aspirin & stroke: a <randomised> trial"
    texts = inner["Abstract"]["AbstractText"]
    assert [(t.attributes["Label"], str(t)) for t in texts] == [
        ("BACKGROUND", "Aspirin may help."),
        ("RESULTS", 'It did, "mostly".'),
    ]
    first, second, third = inner["AuthorList"]
    assert (first["LastName"], first["ForeName"], first["Initials"]) == ("Müller", "Hans K", "HK")
    assert first["AffiliationInfo"][0]["Affiliation"] == "Dept of Neurology, Graz"
    assert (second["LastName"], second["Initials"], second["Suffix"]) == ("van der Berg", "A", "Jr")
    assert third["CollectiveName"] == "Stroke Study Group"
    assert inner["Journal"]["ISOAbbreviation"] == "J Stroke Res"
    assert dict(inner["Journal"]["JournalIssue"]["PubDate"]) == {
        "Year": "2020",
        "Month": "Mar",
        "Day": "09",
    }
    assert inner["Pagination"]["MedlinePgn"] == "11-9"
    assert inner["Language"] == ["eng"]
    assert [str(kind) for kind in inner["PublicationTypeList"]] == [
        "Journal Article",
        "Randomized Controlled Trial",
    ]
    stroke, aspirin = citation["MeshHeadingList"]
    assert stroke["DescriptorName"].attributes == {"UI": "D020521", "MajorTopicYN": "N"}
    assert [(str(q), q.attributes["MajorTopicYN"]) for q in stroke["QualifierName"]] == [
        ("drug therapy", "Y"),
        ("mortality", "N"),
    ]
    assert aspirin["DescriptorName"].attributes["MajorTopicYN"] == "Y"
    assert [str(word) for word in citation["KeywordList"][0]] == ["secondary prevention"]
    assert {i.attributes["IdType"]: str(i) for i in data["ArticleIdList"]} == {
        "pubmed": "101",
        "doi": "10.1000/xyz.101",
        "pmc": "PMC7000001",
    }
    cited = data["ReferenceList"][0]["Reference"]
    assert [str(r["ArticleIdList"][0]) for r in cited] == ["102", "999"]


def test_ids_without_a_record_are_left_out(entrez):
    fetched = read(entrez, entrez.efetch(db="pubmed", id="103,999999,101", retmode="xml"))
    assert [str(a["MedlineCitation"]["PMID"]) for a in fetched["PubmedArticle"]] == ["103", "101"]


def test_medline_text_is_read_by_bio_medline(entrez):
    with entrez.efetch(db="pubmed", id="101,102", rettype="medline", retmode="text") as handle:
        first, second = list(Medline.parse(handle))
    assert first["PMID"] == "101"
    assert first["TI"] == "Aspirin & stroke: a <randomised> trial"
    assert first["AB"] == 'BACKGROUND: Aspirin may help. RESULTS: It did, "mostly".'
    assert first["AU"] == ["Müller HK", "van der Berg A Jr"]
    assert first["FAU"] == ["Müller, Hans K", "van der Berg, Anna"]
    assert first["CN"] == ["Stroke Study Group"]
    assert first["MH"] == ["Stroke/*drug therapy/mortality", "*Aspirin"]
    assert first["DP"] == "2020 Mar 9"
    assert first["SO"] == "J Stroke Res. 2020 Mar 9;12(3):11-9. doi: 10.1000/xyz.101."
    assert first["PMC"] == "PMC7000001"
    assert second["AB"] == "Warfarin thins blood. It is old."
    assert second["LA"] == ["fre", "xyz"]


def test_id_list_as_text(entrez):
    with entrez.efetch(db="pubmed", id="102,101", rettype="uilist", retmode="text") as handle:
        assert handle.read() == "102\n101\n"


def test_summaries(entrez):
    (summary,) = read(entrez, entrez.esummary(db="pubmed", id="101"))
    assert summary["Title"] == "Aspirin & stroke: a <randomised> trial"
    assert summary["AuthorList"] == ["Müller HK", "van der Berg A Jr", "Stroke Study Group"]
    assert summary["LastAuthor"] == "Stroke Study Group"
    assert summary["PubDate"] == "2020 Mar 9"
    assert summary["EPubDate"] == "2020 Feb 1"
    assert summary["LangList"] == ["English"]
    assert summary["RecordStatus"] == "PubMed - indexed for MEDLINE"
    assert summary["SO"] == "2020 Mar 9;12(3):11-9"
    assert summary["HasAbstract"] == 1
    ids = summary["ArticleIds"]
    assert (ids["pubmed"], ids["doi"], ids["pmc"]) == (["101"], "10.1000/xyz.101", "PMC7000001")
    with entrez.esummary(db="pubmed", id="102,101") as handle:
        assert [one["Id"] for one in entrez.parse(handle)] == ["102", "101"]
    with pytest.raises(RuntimeError, match="UID=55: cannot get document summary"):
        read(entrez, entrez.esummary(db="pubmed", id="55"))


def test_einfo(entrez):
    assert read(entrez, entrez.einfo())["DbList"] == ["pubmed"]
    info = read(entrez, entrez.einfo(db="pubmed"))["DbInfo"][0]
    assert (info["DbName"], info["Count"]) == ("pubmed", "4")
    names = {field["Name"]: field for field in info["FieldList"]}
    assert names["MESH"]["Hierarchy"] == "Y"
    assert names["PDAT"]["IsDate"] == "Y"
    second = read(entrez, entrez.einfo(db="pubmed", version="2.0"))["DbInfo"][0]
    assert second["FieldList"][0]["IsTruncatable"] == "Y"


def test_links_are_the_records_cited(entrez):
    (one, two) = read(
        entrez,
        entrez.elink(
            dbfrom="pubmed", db="pubmed", id=["101", "102"], linkname="pubmed_pubmed_refs"
        ),
    )
    assert one["IdList"] == ["101"]
    assert [link["Id"] for link in one["LinkSetDb"][0]["Link"]] == ["102", "999"]
    assert two["LinkSetDb"] == []


def test_long_terms_go_by_post_unchanged(echo_entrez):
    odd = '"a+b%20c#1", &maxdate=2030; é ' + " ".join(f"word{n}" for n in range(2000))
    found = read(echo_entrez, echo_entrez.esearch(db="pubmed", term=odd))
    assert found["QueryTranslation"] == odd


def test_bytes_of_the_answer_are_xml_with_the_document_type(entrez):
    with entrez.esearch(db="pubmed", term="stroke") as handle:
        body = handle.read()
    assert body.startswith(
        b'<?xml version="1.0" encoding="UTF-8" ?>\n<!DOCTYPE eSearchResult PUBLIC'
    )
    assert entrez.read(io.BytesIO(body))["Count"] == "2"
