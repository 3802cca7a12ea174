import gzip
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.search.types import MeshHeading, Record
from pipelines.data import pubmed_xml
from pipelines.data.pubmed_xml import CorpusError, Deletion, read_pubmed_xml, read_records

FULL = """
<PubmedArticle><MedlineCitation>
 <PMID Version="2">101</PMID>
 <DateCompleted><Year>1979</Year><Month>03</Month><Day>24</Day></DateCompleted>
 <DateRevised><Year>2019</Year><Month>05</Month><Day>10</Day></DateRevised>
 <Article>
  <Journal><JournalIssue><PubDate><Year>1979</Year><Month>Jan</Month></PubDate></JournalIssue>
   <Title>Journal of Tests</Title><ISOAbbreviation>J Tests</ISOAbbreviation></Journal>
  <ArticleTitle>Effect of Ca<sup>2+</sup> on <i>E.
    coli</i>.</ArticleTitle>
  <ELocationID EIdType="pii">S1</ELocationID>
  <ELocationID EIdType="doi" ValidYN="Y">10.1/abc</ELocationID>
  <Abstract><AbstractText Label="AIM">To <b>see</b>.</AbstractText>
   <AbstractText Label="RESULT">Seen.</AbstractText><AbstractText>End.</AbstractText></Abstract>
  <AuthorList>
   <Author ValidYN="Y"><LastName>de la Cruz</LastName><ForeName>Ana B</ForeName>
    <Initials>AB</Initials></Author>
   <Author ValidYN="N"><LastName>Wrong</LastName><Initials>W</Initials></Author>
   <Author><LastName>Li</LastName><ForeName>Jean-Luc</ForeName></Author>
   <Author><CollectiveName>Test Study Group</CollectiveName></Author>
  </AuthorList>
  <Language>eng</Language><Language>fre</Language>
  <PublicationTypeList><PublicationType UI="D016428">Journal Article</PublicationType>
   <PublicationType>Review</PublicationType></PublicationTypeList>
  <ArticleDate><Year>1978</Year><Month>12</Month><Day>30</Day></ArticleDate>
 </Article>
 <MedlineJournalInfo><MedlineTA>J Test TA</MedlineTA></MedlineJournalInfo>
 <ChemicalList><Chemical><NameOfSubstance UI="D002118">Calcium</NameOfSubstance></Chemical>
 </ChemicalList>
 <MeshHeadingList>
  <MeshHeading><DescriptorName UI="D001249" MajorTopicYN="N">Asthma</DescriptorName>
   <QualifierName UI="Q000188" MajorTopicYN="Y">drug therapy</QualifierName>
   <QualifierName UI="Q000175" MajorTopicYN="N">diagnosis</QualifierName></MeshHeading>
  <MeshHeading><DescriptorName UI="D006801" MajorTopicYN="N">Humans</DescriptorName></MeshHeading>
  <MeshHeading><DescriptorName UI="D002118" MajorTopicYN="Y">Calcium</DescriptorName></MeshHeading>
 </MeshHeadingList>
 <KeywordList><Keyword MajorTopicYN="N">lung <i>x</i></Keyword></KeywordList>
</MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="pubmed">101</ArticleId></ArticleIdList>
 <ReferenceList><Reference><Citation>A</Citation><ArticleIdList>
   <ArticleId IdType="pubmed">55</ArticleId><ArticleId IdType="doi">10.9/ref</ArticleId>
  </ArticleIdList></Reference>
  <Reference><ArticleIdList><ArticleId IdType="pubmed">56</ArticleId></ArticleIdList></Reference>
  <Reference><ArticleIdList><ArticleId IdType="pubmed">55</ArticleId></ArticleIdList></Reference>
 </ReferenceList></PubmedData></PubmedArticle>"""

EXPECTED = Record(
    id="101",
    title="Effect of Ca2+ on E. coli.",
    abstract="To see. Seen. End.",
    abstract_parts=(("AIM", "To see."), ("RESULT", "Seen.")),
    authors=("de la Cruz AB", "Li JL", "Test Study Group"),
    journal="Journal of Tests",
    journal_abbreviation="J Tests",
    published=date(1979, 1, 1),
    published_precision="month",
    completed=date(1979, 3, 24),
    revised=date(2019, 5, 10),
    publication_types=("Journal Article", "Review"),
    mesh=(
        MeshHeading("Asthma", "D001249", False, (("drug therapy", True), ("diagnosis", False))),
        MeshHeading("Humans", "D006801"),
        MeshHeading("Calcium", "D002118", True),
    ),
    chemicals=("Calcium",),
    keywords=("lung x",),
    languages=("eng", "fre"),
    references=("55", "56"),
    doi="10.1/abc",
    full_authors=("de la Cruz, Ana B", "Li, Jean-Luc", "Test Study Group"),
    electronic=date(1978, 12, 30),
    other_ids=(("pii", "S1"),),
)


def article(pmid: str, title: str = "T", abstract: str = "") -> str:
    text = f"<Abstract><AbstractText>{abstract}</AbstractText></Abstract>" if abstract else ""
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><ArticleTitle>{title}"
        f"</ArticleTitle>{text}</Article></MedlineCitation></PubmedArticle>\n"
    )


def write(path, *parts, root="PubmedArticleSet", packed=False):
    data = f"<?xml version='1.0'?>\n<{root}>\n{''.join(parts)}</{root}>\n".encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_every_field_is_read(tmp_path, packed):
    assert list(read_pubmed_xml(write(tmp_path / "a.xml", FULL, packed=packed))) == [EXPECTED]


def test_an_article_that_says_nothing_is_a_bare_record(tmp_path):
    path = write(
        tmp_path / "a.xml",
        "<PubmedArticle><MedlineCitation><PMID>7</PMID></MedlineCitation></PubmedArticle>",
    )
    assert list(read_pubmed_xml(path)) == [Record("7")]


def test_fallbacks_article_date_medline_abbreviation_and_doi_of_the_id_list(tmp_path):
    path = write(
        tmp_path / "a.xml",
        "<PubmedArticle><MedlineCitation><PMID>7</PMID><Article><ArticleTitle/>"
        "<VernacularTitle>Titel</VernacularTitle><ArticleDate><Year>2020</Year><Month>2</Month>"
        "<Day>3</Day></ArticleDate></Article><MedlineJournalInfo><MedlineTA>J T</MedlineTA>"
        "</MedlineJournalInfo></MedlineCitation><PubmedData><ArticleIdList>"
        "<ArticleId IdType='doi'>10.2/x</ArticleId></ArticleIdList></PubmedData></PubmedArticle>",
    )
    assert list(read_pubmed_xml(path)) == [
        Record(
            "7",
            title="Titel",
            journal_abbreviation="J T",
            published=date(2020, 2, 3),
            published_precision="day",
            electronic=date(2020, 2, 3),
            doi="10.2/x",
        )
    ]


def test_books_are_skipped_with_a_count(tmp_path):
    said: list[str] = []
    book = "<PubmedBookArticle><BookDocument><PMID>5</PMID></BookDocument></PubmedBookArticle>"
    path = write(tmp_path / "a.xml", article("1"), book, book)
    assert [item.id for item in read_pubmed_xml(path, said.append)] == ["1"]
    assert said == ["a.xml: skipped 2 book records"]


def test_old_medline_files_are_read(tmp_path):
    citation = "<MedlineCitation><PMID>3</PMID></MedlineCitation>"
    path = write(tmp_path / "a.xml", citation, root="MedlineCitationSet")
    assert list(read_pubmed_xml(path)) == [Record("3")]


def test_updates_replace_and_delete_in_the_order_of_file_names(tmp_path):
    delete = "<DeleteCitation><PMID>2</PMID><PMID>9</PMID></DeleteCitation>"
    base = write(tmp_path / "n01.xml.gz", article("1"), article("2"), article("3"), packed=True)
    update = write(tmp_path / "n02.xml", article("1", "new"), article("4", "T", "text"), delete)
    assert list(read_pubmed_xml(update))[2:] == [Deletion("2"), Deletion("9")]
    records = read_records([update, base])
    assert [(record.id, record.title) for record in records] == [
        ("1", "new"),
        ("3", "T"),
        ("4", "T"),
    ]
    assert [record.id for record in read_records([update, base], abstracts_only=True)] == ["4"]


def test_broken_xml_names_file_line_and_last_record(tmp_path):
    path = tmp_path / "bad.xml"
    path.write_text("<PubmedArticleSet>\n" + article("1") + article("2") + "<PubmedArticle></x>")
    with pytest.raises(CorpusError, match=r"bad\.xml: broken XML at line 4.*PMID 2"):
        list(read_pubmed_xml(path))


def test_the_good_records_come_before_the_error(tmp_path):
    path = tmp_path / "bad.xml"
    path.write_text("<PubmedArticleSet>\n" + article("1") * 2000)
    items = read_pubmed_xml(path)
    assert len([next(items) for _ in range(2000)]) == 2000
    with pytest.raises(CorpusError, match="line 2002"):
        next(items)


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_a_truncated_gz_names_file_byte_and_last_record(tmp_path, keep):
    numbers = (article(str(n), f"title {n * 7919 % 1000}") for n in range(5000))
    path = write(tmp_path / "cut.xml.gz", *numbers, packed=True)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(CorpusError, match=r"cut\.xml\.gz.*byte \d+.*PMID \d+"):
        list(read_pubmed_xml(path))


def test_damaged_gz(tmp_path):
    path = write(tmp_path / "a.xml.gz", *(article(str(n)) for n in range(500)), packed=True)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    data[len(data) // 2 + 1] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"a\.xml\.gz"):
        list(read_pubmed_xml(path))


def test_an_article_without_pmid(tmp_path):
    path = write(tmp_path / "a.xml", article("8"), "<PubmedArticle></PubmedArticle>")
    with pytest.raises(CorpusError, match=r"a\.xml, line 4: article 2 has no PMID.*PMID 8"):
        list(read_pubmed_xml(path))


def test_lines_are_counted_over_the_whole_file(tmp_path):
    path = tmp_path / "bad.xml"
    filler = "\n".join(article(str(n), "t" * 300) for n in range(2000))
    path.write_text("<PubmedArticleSet>\n" + filler + "<PubmedArticle>\n\n&nope;</PubmedArticle>")
    with pytest.raises(CorpusError, match=r"broken XML at line 4003, .*nope.*PMID 1999"):
        list(read_pubmed_xml(path))


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "us-ascii"])
def test_other_encodings_and_prologs(tmp_path, encoding):
    path = tmp_path / "a.xml"
    xml = (
        f'<?xml version="1.0" encoding="{encoding}"?>\n<!-- <PubmedArticle> -->\n'
        '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD x" "https://dtd/x.dtd">\n'
        f"<PubmedArticleSet>{article('1', 'Ménière')}<!-- a --><?pi?></PubmedArticleSet>"
    )
    path.write_bytes(xml.encode(encoding, "xmlcharrefreplace"))
    assert [(record.id, record.title) for record in read_pubmed_xml(path)] == [("1", "Ménière")]


def test_entities_read_no_files(tmp_path):
    path = tmp_path / "a.xml"
    dtd = f'<!DOCTYPE PubmedArticleSet [<!ENTITY f SYSTEM "{__file__}">]>'
    path.write_text(f"{dtd}<PubmedArticleSet>{article('1', 'x &f; y')}</PubmedArticleSet>")
    (record,) = read_pubmed_xml(path)
    assert record.title.split() in (["x", "y"], ["x", "&f;", "y"])


@given(st.lists(st.integers(1, 400), min_size=1, max_size=40), st.integers(16, 700))
def test_pieces_of_any_size_give_the_same_records(tmp_path_factory, sizes, piece):
    path = tmp_path_factory.mktemp("xml") / "a.xml"
    write(path, *(article(str(n), "t" * size) for n, size in enumerate(sizes)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pubmed_xml, "_PIECE", piece)
        patch.setattr(pubmed_xml, "_HEAD", 60)
        found = [(record.id, len(record.title)) for record in read_pubmed_xml(path)]
    assert found == [(str(n), size) for n, size in enumerate(sizes)]


def test_other_xml_and_other_files_are_refused(tmp_path):
    other = tmp_path / "e.xml"
    other.write_text("<eSearchResult><Count>0</Count></eSearchResult>")
    with pytest.raises(CorpusError, match="root element is <eSearchResult>"):
        list(read_pubmed_xml(other))
    for content in (b"", b"hello", b"\x00\x01\x02"):
        other.write_bytes(content)
        with pytest.raises(CorpusError, match=r"e\.xml: broken XML at line 1"):
            list(read_pubmed_xml(other))
    with pytest.raises(CorpusError, match=r"none\.xml: cannot be read: No such file"):
        list(read_pubmed_xml(tmp_path / "none.xml"))
