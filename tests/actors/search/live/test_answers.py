import json

import pytest

from actors.search.live.bodies import excerpt, read_json
from actors.search.live.errors import QueryRefusedError, ServiceError, TransientError
from actors.search.live.eutils_answers import (
    SearchAnswer,
    parse_articles,
    parse_info,
    parse_post,
    parse_search,
    parse_summary,
)
from actors.search.live.trials_v2 import parse_page, parse_study

WHOLE = {
    "count": "3",
    "retmax": "2",
    "retstart": "0",
    "idlist": ["7", "5"],
    "translationset": [{"from": "rat", "to": '"rats"[MeSH Terms]'}],
    "querytranslation": "t",
    "errorlist": {"phrasesnotfound": ["p"], "fieldsnotfound": ["NoSuchField"]},
    "warninglist": {
        "phrasesignored": ["the"],
        "quotedphrasesnotfound": ['"q q"'],
        "outputmessages": ["No items found."],
    },
}
AS_XML = b"""<eSearchResult><Count>3</Count><RetMax>2</RetMax><RetStart>0</RetStart>
<IdList><Id>7</Id><Id>5</Id></IdList><TranslationSet><Translation><From>rat</From>
<To>"rats"[MeSH Terms]</To></Translation></TranslationSet><QueryTranslation>t</QueryTranslation>
<ErrorList><PhraseNotFound>p</PhraseNotFound><FieldNotFound>NoSuchField</FieldNotFound></ErrorList>
<WarningList><PhraseIgnored>the</PhraseIgnored><QuotedPhraseNotFound>"q q"</QuotedPhraseNotFound>
<OutputMessage>No items found.</OutputMessage></WarningList></eSearchResult>"""


def search_body(**changes):
    return json.dumps({"esearchresult": {**WHOLE, **changes}}).encode()


def test_a_search_answer_in_both_forms():
    expected = SearchAnswer(
        count=3,
        ids=("7", "5"),
        retmax=2,
        translation="t",
        mapped=(("rat", '"rats"[MeSH Terms]'),),
        warnings=(
            "PhraseNotFound: p",
            "FieldNotFound: NoSuchField",
            "PhraseIgnored: the",
            'QuotedPhraseNotFound: "q q"',
            "OutputMessage: No items found.",
        ),
    )
    assert parse_search(200, search_body()) == expected
    assert parse_search(200, AS_XML) == expected


def test_raw_newlines_in_an_error_text_are_read():
    body = (
        b'{"header":{"type":"esearch"},"esearchresult":{"ERROR":"Search Backend failed: Exception:'
        b"\n'retstart' cannot be larger than 9998. For PubMed,\n\tESearch can only retrieve the"
        b' first 9,999 records matching the query."}}'
    )
    with pytest.raises(json.JSONDecodeError):
        json.loads(body)
    with pytest.raises(ServiceError) as caught:
        parse_search(200, body)
    assert str(caught.value) == (
        "Search Backend failed: Exception: 'retstart' cannot be larger than 9998. For PubMed, "
        "ESearch can only retrieve the first 9,999 records matching the query."
    )
    json.loads(json.dumps({"error": str(caught.value)}))


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Empty term and query_key - nothing todo", QueryRefusedError),
        ("Search Backend failed: Couldn't resolve #pubmed", TransientError),
        ("Something nobody has seen", TransientError),
        ("Invalid db name specified: fleegle", ServiceError),
        ("API rate limit exceeded", TransientError),
    ],
)
def test_an_error_is_never_an_empty_answer(message, kind):
    for body in (
        json.dumps({"esearchresult": {"ERROR": message}}).encode(),
        json.dumps({"esearchresult": {**WHOLE, "ERROR": message}}).encode(),
        f"<eSearchResult><ERROR>{message}</ERROR></eSearchResult>".encode(),
    ):
        with pytest.raises(kind, match=message.split(":")[0]):
            parse_search(200, body)


def test_only_a_complaint_without_an_outage_may_become_the_querys_fault():
    def verdict(message):
        with pytest.raises(TransientError) as caught:
            parse_search(200, json.dumps({"esearchresult": {"ERROR": message}}).encode())
        return caught.value.verdict

    assert isinstance(verdict("Something nobody has seen"), QueryRefusedError)
    assert verdict("Search Backend failed: address table is empty") is None


@pytest.mark.parametrize("status", [200, 429])
def test_the_rate_limit_is_transient_whatever_its_status(status):
    body = b'{"error":"API rate limit exceeded","api-key":"10.0.0.1","count":"4","limit":"3"}'
    for parse in (parse_search, parse_summary, parse_info, parse_post, parse_articles):
        with pytest.raises(TransientError, match="rate limit"):
            parse(status, body)


def test_a_refused_key_is_our_fault():
    with pytest.raises(ServiceError, match="replace or unset NCBI_API_KEY"):
        parse_search(400, b'{"error":"API key invalid","api-key":"abc","type":"api"}')


MALFORMED = [
    b"",
    b"   ",
    b"{",
    search_body()[:-9],
    b"[1, 2]",
    b"null",
    b"{}",
    b'{"esearchresult": null}',
    b'{"esearchresult": {}}',
    b'{"esearchresult": {"count": "many", "idlist": []}}',
    search_body(idlist=["7"]),  # one of two announced ids
    search_body(idlist=None),
    AS_XML[:-20],
    AS_XML.replace(b"<Id>5</Id>", b""),
    AS_XML.replace(b"<Count>3</Count>", b""),
    b"<!DOCTYPE html><html><head><title>Error</title></head><body>WWW Error 500</body></html>",
    b"<html><body>blocked<br></body></html>",
    b"\xff\xfe\x00garbage",
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_bodies_are_transient_and_never_zero_hits(body):
    with pytest.raises(TransientError):
        parse_search(200, body)


@pytest.mark.parametrize("parse", [parse_summary, parse_info, parse_post, parse_articles])
@pytest.mark.parametrize("body", [b"", b"{", b"<html>no</html>", b"<a", b'{"a": 1}', b"[]"])
def test_other_answers_too(parse, body):
    with pytest.raises(TransientError):
        parse(200, body)


def test_a_summary_cut_between_ids():
    with pytest.raises(TransientError, match="8 was announced"):
        parse_summary(200, b'{"result": {"uids": ["7", "8"], "7": {"uid": "7"}}}')


def test_posted_ids_that_are_left_out():
    answer = parse_post(
        200,
        b"<ePostResult><InvalidIdList><Id>x</Id></InvalidIdList>"
        b"<QueryKey>2</QueryKey><WebEnv>MCID_1</WebEnv></ePostResult>",
    )
    assert (answer.webenv, answer.query_key, answer.invalid) == ("MCID_1", "2", ("x",))


def test_articles_with_markup_sections_and_no_entities_fetched():
    body = b"""<?xml version="1.0"?>
<!DOCTYPE PubmedArticleSet SYSTEM "http://127.0.0.1:1/none.dtd" [<!ENTITY f SYSTEM "/etc/passwd">]>
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID Version="1">12</PMID><Article>
<ArticleTitle>Uptake of <i>H</i><sub>2</sub>O &f;in\n rats.</ArticleTitle><Abstract>
<AbstractText Label="AIM">One &amp; two.</AbstractText><AbstractText>Three.</AbstractText>
</Abstract></Article><CommentsCorrectionsList><CommentsCorrections><PMID>99</PMID>
</CommentsCorrections></CommentsCorrectionsList></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>13</PMID><Article><ArticleTitle/>
<VernacularTitle>Ratten</VernacularTitle></Article></MedlineCitation></PubmedArticle>
<PubmedBookArticle><BookDocument><PMID>14</PMID><Book><BookTitle>Book</BookTitle></Book>
</BookDocument></PubmedBookArticle></PubmedArticleSet>"""
    assert parse_articles(200, body) == {
        "12": ("Uptake of H2O in rats.", "One & two. Three."),
        "13": ("Ratten", ""),
        "14": ("Book", ""),
    }
    assert parse_articles(200, b"<PubmedArticleSet></PubmedArticleSet>") == {}


def test_trials_errors_are_plain_text():
    with pytest.raises(QueryRefusedError, match=r"Error parsing query in `query\.term`"):
        parse_page(400, b"Error parsing query in `query.term`: missing ']' at '<EOF>'")
    with pytest.raises(ServiceError, match=r"HTTP 400: `filter\.phase` is unknown parameter"):
        parse_page(400, b"`filter.phase` is unknown parameter")
    with pytest.raises(QueryRefusedError, match="too long"):
        parse_page(414, b"")
    with pytest.raises(ServiceError, match="HTTP 403"):
        parse_page(403, b"<html><body>Forbidden</body></html>")
    assert parse_study(404, b"NCT number NCT00000001 not found") is None


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b'{"studies": 3}', b'{"studies": [1]}', b'{"studies": [', b"<html/>"],
)
def test_malformed_pages_are_transient(body):
    with pytest.raises(TransientError):
        parse_page(200, body)


def test_excerpts_are_short_single_lines():
    page = (
        b"<html><head><style>b{}</style></head><body><h1>Server &amp; Error</h1>\n x</body></html>"
    )
    assert excerpt(page) == "Server & Error x"
    assert len(excerpt(b"word " * 1000)) == 203
    assert read_json(b'\xef\xbb\xbf{"a": "b\nc"}') == {"a": "b\nc"}
