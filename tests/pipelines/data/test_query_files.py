import gzip
import json
from datetime import date

import pytest

from actors.search.types import MeshHeading, Record
from pipelines.data.pubmed_xml import CorpusError
from pipelines.data.query_files import read_corpus, read_jsonl_records, read_query_file
from pipelines.data.task import Pico, Task


def lines(path, *objects):
    path.write_text("".join(json.dumps(each) + "\n" for each in objects))
    return path


def test_pico_lines_and_free_text_lines(tmp_path):
    path = lines(
        tmp_path / "q.jsonl",
        {"id": "a", "P": "p", "I": "i", "C": "", "O": "o", "relevant": ["1", "2"]},
        {"id": "b", "text": "what?", "relevant": [3], "date_to": "2003", "human_query": "x[ti]"},
        {"id": "c", "I": "i", "publication_pmids": ["4"], "pub_date": "2019/02/13"},
        {"id": "d", "I": "i", "relevant": [], "date": "2020/02", "parent": "a"},
    )
    assert read_query_file(path, corpus="k") == [
        Task("a", Pico("p", "i", "", "o"), frozenset("12"), None, "k", topics=frozenset("a")),
        Task("b", "what?", frozenset("3"), date(2003, 12, 31), "k", "x[ti]", frozenset("b")),
        Task("c", Pico("", "i"), frozenset("4"), date(2019, 2, 13), "k", topics=frozenset("c")),
        Task("d", Pico("", "i"), frozenset(), date(2020, 2, 29), "k", topics=frozenset("a")),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a"', "line 2: not JSON"),
        ("[1]", "line 2: expected a JSON object"),
        ('{"P": "p"}', "line 2: no id"),
        ('{"id": "a"}', "line 2: no text or question or P, I, C or O"),
        ('{"id": "a", "P": ["x"]}', "line 2: P is not text"),
        ('{"id": "a", "P": "p", "relevant": "1"}', "line 2: relevant is not a list"),
        ('{"id": "a", "P": "p", "relevant": [null]}', "line 2: relevant holds None"),
        ('{"id": "a", "P": "p", "date": "soon"}', "line 2: 'soon' is not a date"),
        ('{"id": "first", "P": "p"}', "line 2: id first comes twice"),
        ("\xff", "line 2: not JSON"),
    ],
)
def test_bad_lines_name_file_and_line(tmp_path, line, message):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{"id": "first", "P": "p"}\n' + line.encode("latin-1") + b"\n")
    with pytest.raises(CorpusError, match=rf"bad\.jsonl, {message}"):
        read_query_file(path)


def test_empty_and_missing_files(tmp_path):
    with pytest.raises(CorpusError, match="holds no task"):
        read_query_file(lines(tmp_path / "q.jsonl"))
    with pytest.raises(CorpusError, match="cannot be read"):
        read_query_file(tmp_path / "none.jsonl")


ROW = {
    "pmid": "5",
    "title": "T",
    "abstract": "A",
    "date": "2020-06",
    "year": "2020",
    "journal": "J",
    "doi": "10.1/x",
    "mesh": ["Humans", "*Asthma/drug therapy/*blood"],
    "pubtypes": ["Review"],
    "keywords": ["k"],
    "authors": ["Sheftell, Fred D", "Koçak T"],
    "src": ["x"],
}
RECORD = Record(
    "5",
    "T",
    "A",
    authors=("Sheftell FD", "Koçak T"),
    journal="J",
    published=date(2020, 6, 1),
    published_precision="month",
    publication_types=("Review",),
    mesh=(
        MeshHeading("Humans"),
        MeshHeading("Asthma", "", True, (("drug therapy", False), ("blood", True))),
    ),
    keywords=("k",),
    doi="10.1/x",
)


def test_records_as_lines_plain_and_gz(tmp_path):
    path = lines(tmp_path / "c.jsonl", ROW, {"id": "w-1", "title": "T", "abstract": ""})
    packed = tmp_path / "d.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert list(read_jsonl_records(path)) == [RECORD, Record("w-1", "T")]
    assert list(read_jsonl_records(packed)) == [RECORD, Record("w-1", "T")]
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(CorpusError, match=r"d\.jsonl\.gz: the gz stream breaks off"):
        list(read_jsonl_records(packed))


def test_a_corpus_joins_xml_and_lines(tmp_path):
    xml = tmp_path / "a.xml"
    xml.write_text(
        "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>5</PMID></MedlineCitation>"
        "</PubmedArticle><PubmedArticle><MedlineCitation><PMID>6</PMID></MedlineCitation>"
        "</PubmedArticle></PubmedArticleSet>"
    )
    rows = lines(tmp_path / "c.jsonl", ROW)
    assert read_corpus([rows, xml]) == [RECORD, Record("6")]
    assert read_corpus([rows, xml], abstracts_only=True) == [RECORD]
    with pytest.raises(CorpusError, match=r"a\.xml: no record with an abstract"):
        read_corpus([xml], abstracts_only=True)
    with pytest.raises(CorpusError, match="no record in it"):
        read_corpus([lines(tmp_path / "e.jsonl")])
