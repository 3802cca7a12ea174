import pytest

from actors.search.ovid import looks_like_ovid


@pytest.mark.parametrize(
    "query",
    [
        "exp Asthma/",
        "asthma.ti,ab.",
        "(asthma or wheez$).tw.",
        "heart adj3 attack",
        "1. asthma\n2. wheeze\n3. 1 or 2",
        "Asthma/ or Cough/",
        "Asthma/dt",
        "a\nb\nor/1-2",
        "a\nlimit 1 to humans",
        "randomized controlled trial.pt.",
        '"Asthma"[MeSH]\nwheez*[tiab]\n#1 OR #2',
    ],
)
def test_ovid(query):
    assert looks_like_ovid(query)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "asthma",
        "asthma AND wheeze",
        "asthma[tiab] OR wheez*[tiab]",
        '"Asthma/drug therapy"[Mesh]',
        "HIV/AIDS OR hepatitis",
        "and/or",
        "Vitamin B.12 or St. John's wort",
        "(asthma[ti]\nOR cough[ti])",
        "1 AND 2",
        '"back pain"[ti:~3] AND 2010:2015[dp]',
    ],
)
def test_not_ovid(query):
    assert not looks_like_ovid(query)
