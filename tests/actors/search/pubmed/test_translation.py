"""What queries mean and find, on an index that is scanned by brute force."""

from datetime import date

import pytest

from actors.search.engine import PubMedEngine
from actors.search.mesh import Descriptor, Mesh
from actors.search.types import MeshHeading, QueryError, Record, SearchRequest, SearchResult
from tests.actors.search.brute import BruteLookup

TODAY = date(2020, 3, 31)
RECORDS = [
    Record(
        "1", "Tamoxifen for cancer of the breast", "Hormone therapy in a trial of 40 women.",
        authors=("Smith JA", "Van Der Berg P"), full_authors=("Smith, Jane", "Van Der Berg, Pim"),
        journal="The Lancet", journal_abbreviation="Lancet", published=date(2010, 1, 1),
        publication_types=("Randomized Controlled Trial",), languages=("eng",),
        mesh=(
            MeshHeading("Breast Neoplasms", qualifiers=(("drug therapy", True),)),
            MeshHeading("Tamoxifen"),
            MeshHeading("Humans"),
        ),
        doi="10.1016/S0140-6736(10)1", volume="375", issue="9", pages="12-9", issn="0140-6736",
        country="England", status="MEDLINE", entered=date(2010, 2, 2), created=date(2010, 2, 3),
        mesh_dated=date(2010, 5, 5), completed=date(2010, 5, 4), revised=date(2019, 1, 1),
        electronic=date(2009, 12, 1),
    ),
    Record("2", "Child rearing", "Quality of life.", published=date(2012, 6, 1),
           authors=("Smithson J",), languages=("fre",), keywords=("lobular carcinoma",),
           mesh=(MeshHeading("Child Rearing"), MeshHeading("Quality of Life")),
           affiliations=("University of Ghent",), publication_types=("Review",)),
    Record("3", "Low-dose aspirin", "Rearing of a child.", published=date(2015, 4, 1),
           mesh=(MeshHeading("Aspirin", major=True, qualifiers=(("poisoning", False),)),),
           chemicals=("compound x",), status="PubMed-not-MEDLINE"),
    Record("4", "Carcinoma", published=date(2020, 3, 31),
           mesh=(MeshHeading("Carcinoma, Lobular", qualifiers=(("surgery", False),)),)),
    Record("5", "Undated note", "Therapy therapy."),
]  # fmt: skip
MESH = Mesh(
    (
        Descriptor("Neoplasms", 1, ("C04",), ("Cancer", "Tumor")),
        Descriptor("Breast Neoplasms", 1, ("C04.588",), ("Breast Cancer",)),
        Descriptor("Carcinoma, Lobular", 1, ("C04.588.1", "C04.557"), ("Lobular Carcinoma",)),
        Descriptor("Child Rearing", 1, ("F01",), ()),
        Descriptor("Quality of Life", 1, ("I01",), ()),
        Descriptor("Aspirin", 1, ("D02",), ("Acetylsalicylic Acid",)),
        Descriptor("Unseen Heading", 1, ("Z01",), ("Unseen Entry",)),
        Descriptor("Clinical Trial", 2, ("V03",), ()),
        Descriptor("Randomized Controlled Trial", 2, ("V03.5",), ("RCT",)),
    )
)


@pytest.fixture(scope="module")
def engine():
    return PubMedEngine(BruteLookup(RECORDS), MESH)


@pytest.fixture(scope="module")
def plain():
    return PubMedEngine(BruteLookup(RECORDS))


def search(engine, query, **kwargs):
    outcome = engine.search(SearchRequest(query, 10, today=TODAY, **kwargs))
    assert isinstance(outcome, SearchResult), outcome
    return outcome


@pytest.mark.parametrize(
    ("query", "translation"),
    [
        # As recorded from esearch for `stem cells` and `cancer`, and PubMed Help's example.
        (
            "child rearing",
            '"child rearing"[MeSH Terms] OR ("child"[All Fields] AND "rearing"[All Fields])'
            ' OR "child rearing"[All Fields]',
        ),
        (
            "cancer",
            '"neoplasms"[MeSH Terms] OR "neoplasms"[All Fields] OR "cancer"[All Fields]',
        ),
        (
            "breast cancer",
            '"breast neoplasms"[MeSH Terms] OR ("breast"[All Fields] AND "neoplasms"[All Fields])'
            ' OR "breast neoplasms"[All Fields] OR ("breast"[All Fields] AND "cancer"[All Fields])'
            ' OR "breast cancer"[All Fields]',
        ),
        (
            "quality of life",
            '"quality of life"[MeSH Terms] OR ("quality"[All Fields] AND "life"[All Fields])'
            ' OR "quality of life"[All Fields]',
        ),
        (
            "aspirin child rearing undated",
            '("aspirin"[MeSH Terms] OR "aspirin"[All Fields]) AND ("child rearing"[MeSH Terms] OR '
            '("child"[All Fields] AND "rearing"[All Fields]) OR "child rearing"[All Fields])'
            ' AND "undated"[All Fields]',
        ),
        ("review", '"review"[Publication Type] OR "review"[All Fields]'),
        (
            "drug therapy",
            '"drug therapy"[MeSH Subheading] OR ("drug"[All Fields] AND "therapy"[All Fields])'
            ' OR "drug therapy"[All Fields]',
        ),
        ("lancet", '"lancet"[Journal] OR "lancet"[All Fields]'),
        ("smith ja", "smith ja[Author]"),
        ("jane smith", "smith jane[Author - Full]"),
        (
            "compound x",
            '"compound x"[Supplementary Concept] OR ("compound"[All Fields] AND "x"[All Fields])'
            ' OR "compound x"[All Fields]',
        ),
        ("unseen entry", '"unseen"[All Fields] AND "entry"[All Fields]'),
        ("cance*", '"cance*"[All Fields]'),
        ('"cancer"', '"cancer"[All Fields]'),
        ("cancer[tiab]", '"cancer"[Title/Abstract]'),
        ("acetylsalicylic acid[nm]", '"acetylsalicylic acid"[Supplementary Concept]'),
        ("acetylsalicylic acid[mh]", '"aspirin"[MeSH Terms]'),
        ("cancer[mh:noexp]", '"neoplasms"[MeSH Terms:noexp]'),
        ("breast cancer/dt[majr]", '"breast neoplasms/drug therapy"[MeSH Major Topic]'),
        ('"hormone therapy"[tiab:~2]', '"hormone therapy"[Title/Abstract:~2]'),
        ("smith j[au]", "smith j[Author]"),
        ('"smith j"[au]', '"smith j"[Author]'),
        ("2010/02:3000[edat]", "2010/02/01:3000/12/12[Date - Entry]"),
        ('"last 5 years"[dp]', "2015/03/31:3000/12/12[Date - Publication]"),
        ("cancer[tiab] AND ([pdat] : [pdat])", '"cancer"[Title/Abstract]'),
        (
            "lecanemab[NoSuchField]",
            '"lecanemab"[All Fields]',
        ),
    ],
)
def test_translation(engine, query, translation):
    assert search(engine, query).translation == translation


def test_what_was_mapped_is_listed(engine):
    found = search(engine, "child rearing OR the lancet[ta] OR undated")
    assert [name for name, _ in found.mapped] == ["child rearing", "the lancet[ta]"]
    assert found.mapped[1] == ("the lancet[ta]", '"the lancet"[Journal]')


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("cancer", ["4", "1"]),  # 4 only by explosion
        ("cancer[mh]", ["4", "1"]),
        ("cancer[mh:noexp]", []),
        ("breast neoplasms[mh]", ["4", "1"]),
        ("breast neoplasms[mesh: noexp]", ["1"]),
        ("breast neoplasms/therapy[mh]", ["4", "1"]),  # drug therapy and, below, surgery
        ("breast neoplasms/th[mh:noexp]", []),
        ("breast neoplasms/prevention and control[mh]", []),
        ('"Breast Neoplasms/drug therapy"[Mesh]', ["1"]),
        ("breast neoplasms[majr]", ["1"]),
        ("aspirin[majr]", ["3"]),
        ("aspirin/poisoning[majr]", []),
        ("carcin*[mh]", ["4"]),
        ("therapy[sh]", ["4", "1"]),
        ("therapy[sh:noexp]", []),
        ("to[sh]", []),
        ("adverse effects[sh]", ["3"]),
        ("clinical trial[pt]", ["1"]),
        ("clinical trial[pt:noexp]", []),
        ("rct[pt]", ["1"]),
        ("compound x[nm]", ["3"]),
        ("rearing child", ["3", "2"]),
        ('"rearing child"', ["3", "2"]),  # not there as a phrase: the words, mapped
        ("rearing-child", []),
        ('"tamoxifen breast"[ti:~4]', ["1"]),
        ('"breast tamoxifen"[ti:~4]', ["1"]),
        ('"tamoxifen breast"[ti:~3]', []),
        ('"tamoxifen therapy"[tiab:~40]', []),  # never across title and abstract
        ("ghent[ad]", ["2"]),
        ("smith, jane[fau]", ["1"]),
        ("jane smith[fau]", ["1"]),
        ("10.1016/s0140-6736[doi]", []),
        ('"10.1016/S0140-6736(10)1"[doi]', ["1"]),
        ("375[vi] AND 9[ip] AND 12-9[pg]", ["1"]),
        ("0140-6736[is]", ["1"]),
        ("england[pl]", ["1"]),
        ("2010[edat]", ["1"]),
        ("2010/02/03[crdt]", ["1"]),
        ("2010/05/05[mhda] AND 2010/05/04[dcom] AND 2019[lr]", ["1"]),
        ("2009[epdat]", ["1"]),
        ('"last 1 days"[dp]', ["4"]),
        ('"last 5 years"[dp]', ["4", "3"]),
        ('carcinoma "last 8 weeks"[dp]', ["4"]),
        ("2012 spring:2015 spring[dp]", ["3", "2"]),
        ("2012/06/01:2012/06/01[dp]", ["2"]),
        ("hasabstract", ["3", "2", "1", "5"]),
        ("hasabstract[text] AND 2010[dp]", ["1"]),
        ("medline[sb]", ["1"]),
        ("pubmednotmedline[sb]", ["3"]),
        ("all[sb] NOT hasabstract[sb]", ["4"]),
        ("humans[filter]", ["1"]),
        ("review[filter]", ["2"]),
        ("1, 2 3", ["3", "2", "1"]),
        ("1 2[uid] OR undated", ["2", "1", "5"]),
        ("quality of life", ["2"]),
        ("the", None),
        ("the OR child", ["3", "2"]),
        ("carcinoma NOT the", ["4", "2"]),
        ("the NOT child", ["4", "1", "5"]),
    ],
)
def test_what_is_found(engine, query, expected):
    if expected is None:
        assert isinstance(engine.search(SearchRequest(query, 10)), QueryError)
    else:
        assert list(search(engine, query).ids) == expected


@pytest.mark.parametrize(
    ("query", "warnings"),
    [
        ("fleegle[MeSH Terms]", ["PhraseNotFound: fleegle[MeSH Terms]"]),  # as recorded
        ('"zebra rearing"', ['QuotedPhraseNotFound: "zebra rearing"', "PhraseNotFound: zebra"]),
        ("“zebra rearing”[ti]", [
            'QuotedPhraseNotFound: "zebra rearing"[ti]', "PhraseNotFound: zebra",
        ]),
        ("zebra-rearing", ["PhraseNotFound: zebra rearing"]),
        ("the child", ["PhraseIgnored: the"]),
        ("tamoxifen[rn]", [
            "OutputMessage: [EC/RN Number] finds nothing: EC/RN Number not in this index",
        ]),
        ("9999", ["PhraseNotFound: 9999[UID]"]),
        ("whenever[dp]", ["PhraseNotFound: whenever[dp]"]),
        ("nonsense[sb]", ["PhraseNotFound: nonsense[sb]"]),
        ('"child rear*"[ti:~2]', [
            'OutputMessage: proximity ignored in "child rear*"[ti:~2]: no truncation in it',
        ]),
        ('"child rearing"[mh:~2]', [
            'OutputMessage: proximity ignored in "child rearing"[mh:~2]: only [ti], [tiab] and '
            "[ad] have it",
        ]),
        ("breast neoplasms[mh]", []),
    ],
)  # fmt: skip
def test_warnings(engine, query, warnings):
    assert sorted(search(engine, query).warnings) == sorted(warnings)


def test_an_index_without_mesh_maps_its_own_headings_and_says_what_is_lacking(plain):
    found = search(plain, "child rearing AND quality of life[mh] AND humans[mh]")
    lacking = "OutputMessage: headings are not exploded: no MeSH vocabulary was given"
    assert found.warnings == (lacking,)
    assert '"child rearing"[MeSH Terms]' in found.translation
    assert "MeSH Terms" not in search(plain, "breast neoplasms drug therapy").translation[-40:]
    assert list(search(plain, "breast neoplasms[mh]").ids) == ["1"]


def test_mapping_can_be_switched_off(engine):
    found = search(engine, "child rearing", mapping=False)
    assert found.translation == '"child"[All Fields] AND "rearing"[All Fields]'
    assert found.mapped == ()


def test_history(engine):
    history = ("child", "rearing NOT #1", "#1 OR #2", "the", "(")
    assert list(search(engine, "#1", history=history).ids) == ["3", "2"]
    assert list(search(engine, "#3 NOT quality", history=history).ids) == ["3"]
    found = search(engine, "aspirin #1", history=history, mapping=False)
    assert found.translation == '"aspirin"[All Fields] AND "child"[All Fields]'
    nested = search(engine, "#3 AND aspirin", history=history, mapping=False)
    assert nested.translation == (
        '("child"[All Fields] OR ("rearing"[All Fields] NOT "child"[All Fields])) '
        'AND "aspirin"[All Fields]'
    )


@pytest.mark.parametrize(
    ("query", "message", "position"),
    [
        ("rat OR #7", "no entry #7 in the history, which has 3", 7),
        ("#0", "no entry #0", 0),
        ("#2", "entry #2 of the history cannot be run", 0),
        ("#3", "no entry #3", 0),  # an entry cannot recall itself
    ],
)
def test_history_that_cannot_be_recalled(engine, query, message, position):
    request = SearchRequest(query, 1, history=("child", "(", "#3"))
    outcome = engine.search(request)
    assert isinstance(outcome, QueryError)
    assert message in outcome.message
    assert outcome.position == position


def test_a_history_that_doubles_each_time_costs_nothing(engine):
    history = ("child", *(f"#{i} OR #{i}" for i in range(1, 60)))
    found = search(engine, "#60", history=history)
    assert found.total == 2
    assert len(found.translation) < 20_000


def test_more_than_600_variations_are_cut_in_alphabetical_order():
    engine = PubMedEngine(BruteLookup([Record(str(i), f"word{i:04}") for i in range(1, 702)]))
    found = search(engine, "word*")
    assert found.total == 600
    assert found.warnings == ("OutputMessage: word*: only the first 600 variations searched",)
    assert search(engine, "word00*").total == 99
