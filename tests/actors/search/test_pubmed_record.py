import re
from datetime import date
from pathlib import Path

import pytest
from lxml import etree

from actors.search.pubmed_record import RecordError, record_of, records_of
from actors.search.types import MeshHeading, Record

SHARED = Path(__file__).parents[4] / "shared" / "data" / "fixtures" / "eutils"

ARTICLE = """
<PubmedArticle>
 <MedlineCitation Status="MEDLINE" Owner="NLM">
  <PMID Version="1">201</PMID>
  <DateCompleted><Year>2021</Year><Month>06</Month><Day>09</Day></DateCompleted>
  <Article PubModel="Print-Electronic">
   <Journal><ISSN IssnType="Electronic">1234-567X</ISSN>
    <JournalIssue CitedMedium="Internet"><Volume>12</Volume><Issue>3 Pt 1</Issue>
     <PubDate><MedlineDate>2021 May-Jun</MedlineDate></PubDate></JournalIssue>
    <Title>Journal of Tests</Title><ISOAbbreviation>J. Tests</ISOAbbreviation></Journal>
   <ArticleTitle>A <i>b</i> <b>c</b>.</ArticleTitle>
   <Pagination><StartPage>10</StartPage><EndPage>15</EndPage></Pagination>
   <ELocationID EIdType="doi" ValidYN="N">10.1/wrong</ELocationID>
   <ELocationID EIdType="pii" ValidYN="Y">S1</ELocationID>
   <AuthorList CompleteYN="Y">
    <Author ValidYN="Y"><LastName>King</LastName><ForeName>Donald A</ForeName>
     <Initials>DA</Initials><Suffix>Jr</Suffix>
     <Identifier Source="ORCID">0000-0001</Identifier>
     <AffiliationInfo><Affiliation>Dept A,
      Oslo.</Affiliation></AffiliationInfo>
     <AffiliationInfo><Affiliation>Dept B.</Affiliation></AffiliationInfo></Author>
    <Author ValidYN="Y"><LastName>Mononym</LastName>
     <AffiliationInfo><Affiliation>Dept B.</Affiliation></AffiliationInfo></Author>
    <Author ValidYN="Y"><CollectiveName>The Group</CollectiveName></Author>
   </AuthorList>
   <Language>eng</Language>
   <DataBankList><DataBank><DataBankName>ClinicalTrials.gov</DataBankName>
    <AccessionNumberList><AccessionNumber>NCT00000001</AccessionNumber></AccessionNumberList>
   </DataBank></DataBankList>
   <ArticleDate DateType="Electronic"><Year>2021</Year><Month>04</Month><Day>30</Day></ArticleDate>
  </Article>
  <MedlineJournalInfo><Country>Norway</Country><MedlineTA>J Tests TA</MedlineTA>
   <NlmUniqueID>7654321</NlmUniqueID><ISSNLinking>1111-1111</ISSNLinking></MedlineJournalInfo>
  <ChemicalList><Chemical><RegistryNumber>0</RegistryNumber>
   <NameOfSubstance UI="D1">Iron</NameOfSubstance></Chemical></ChemicalList>
  <SupplMeshList><SupplMeshName Type="Disease" UI="C1">Rare Disease</SupplMeshName></SupplMeshList>
  <CommentsCorrectionsList>
   <CommentsCorrections RefType="Cites"><RefSource>x</RefSource><PMID>11</PMID>
   </CommentsCorrections>
   <CommentsCorrections RefType="CommentIn"><RefSource>y</RefSource><PMID>12</PMID>
   </CommentsCorrections></CommentsCorrectionsList>
  <MeshHeadingList>
   <MeshHeading><DescriptorName MajorTopicYN="N" UI="D9" Type="Geographic">Norway
    </DescriptorName></MeshHeading>
   <MeshHeading><DescriptorName UI="D8" MajorTopicYN="Y">Iron</DescriptorName>
    <QualifierName UI="Q1" MajorTopicYN="N">blood</QualifierName></MeshHeading>
  </MeshHeadingList>
  <KeywordList Owner="NOTNLM"><Keyword MajorTopicYN="N">iron</Keyword></KeywordList>
  <KeywordList Owner="NASA"><Keyword MajorTopicYN="N">space</Keyword></KeywordList>
 </MedlineCitation>
 <PubmedData>
  <History>
   <PubMedPubDate PubStatus="received"><Year>2020</Year><Month>1</Month><Day>1</Day></PubMedPubDate>
   <PubMedPubDate PubStatus="entrez"><Year>2021</Year><Month>5</Month><Day>1</Day><Hour>20</Hour>
    <Minute>34</Minute></PubMedPubDate>
   <PubMedPubDate PubStatus="pubmed"><Year>2021</Year><Month>5</Month><Day>2</Day></PubMedPubDate>
   <PubMedPubDate PubStatus="medline"><Year>2021</Year><Month>6</Month><Day>9</Day></PubMedPubDate>
  </History>
  <PublicationStatus>ppublish</PublicationStatus>
  <ArticleIdList><ArticleId IdType="pubmed">201</ArticleId><ArticleId IdType="pii">S1</ArticleId>
   <ArticleId IdType="pmc">PMC9</ArticleId><ArticleId IdType="doi">10.1/right</ArticleId>
  </ArticleIdList>
  <ReferenceList><Title>References</Title><ReferenceList><Reference><Citation>c</Citation>
   <ArticleIdList><ArticleId IdType="pubmed">13</ArticleId></ArticleIdList></Reference>
  </ReferenceList></ReferenceList>
 </PubmedData>
</PubmedArticle>"""

EXPECTED = Record(
    id="201",
    title="A b c.",
    authors=("King DA Jr", "Mononym", "The Group"),
    full_authors=("King, Donald A Jr", "Mononym", "The Group"),
    affiliations=("Dept A, Oslo.", "Dept B."),
    journal="Journal of Tests",
    journal_abbreviation="J. Tests",
    volume="12",
    issue="3 Pt 1",
    pages="10-15",
    issn="1234-567X",
    journal_id="7654321",
    country="Norway",
    status="MEDLINE",
    published=date(2021, 5, 1),
    published_precision="month",
    electronic=date(2021, 4, 30),
    entered=date(2021, 5, 2),
    created=date(2021, 5, 1),
    mesh_dated=date(2021, 6, 9),
    completed=date(2021, 6, 9),
    mesh=(
        MeshHeading("Norway", "D9", False),
        MeshHeading("Iron", "D8", True, (("blood", False),)),
    ),
    chemicals=("Iron", "Rare Disease"),
    keywords=("iron", "space"),
    languages=("eng",),
    references=("11", "13"),
    doi="10.1/right",
    other_ids=(("pii", "S1"), ("pmc", "PMC9"), ("ClinicalTrials.gov", "NCT00000001")),
)


def test_every_field_of_an_article():
    assert record_of(etree.fromstring(ARTICLE)) == EXPECTED
    assert record_of(etree.fromstring(ARTICLE)) == EXPECTED  # caches give the same


def test_a_small_file_leaves_books_out():
    book = "<PubmedBookArticle><BookDocument><PMID>5</PMID></BookDocument></PubmedBookArticle>"
    xml = f"<?xml version='1.0'?><PubmedArticleSet>{book}{ARTICLE}<!-- x --></PubmedArticleSet>"
    assert records_of(xml.encode()) == [EXPECTED]
    assert records_of(b"<PubmedArticleSet></PubmedArticleSet>") == []


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (b"", "not XML"),
        (b"<PubmedArticleSet>", "not XML"),
        (b"<eSearchResult/>", "root element is <eSearchResult>"),
        (b"<PubmedArticleSet><PubmedArticle/></PubmedArticleSet>", "an article has no PMID"),
    ],
)
def test_what_is_not_pubmeds(xml, message):
    with pytest.raises(RecordError, match=message):
        records_of(xml)


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"NOT CHECKED: no recorded answers at {SHARED}")
def test_recorded_answers_parse():
    files = articles = 0
    for path in sorted(SHARED.rglob("*.xml")):
        xml = path.read_bytes()
        if b"<PubmedArticle>" not in xml:
            continue
        files += 1
        records = records_of(xml)
        articles += len(records)
        pmids = re.findall(rb"<PubmedArticle>\s*<MedlineCitation[^>]*>\s*<PMID[^>]*>(\d+)", xml)
        assert [record.id for record in records] == [pmid.decode() for pmid in pmids], path
        for record in records:
            assert record.title or record.abstract, path
            assert len(record.authors) == len(record.full_authors)
            assert record.entered, path
    assert files >= 60
    assert articles >= 60
