from datetime import date

import pytest

from actors.search.pubmed.dates import parse_date


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2010", (2010, 1, 1), (2010, 12, 31)),
        ("2012/02", (2012, 2, 1), (2012, 2, 29)),
        ("2012/2/5", (2012, 2, 5), (2012, 2, 5)),
        ("2012-02-05", (2012, 2, 5), (2012, 2, 5)),
        (" 2012 Feb 5 ", (2012, 2, 5), (2012, 2, 5)),
        ("2012 september", (2012, 9, 1), (2012, 9, 30)),
        ("1999 Winter", (1999, 1, 1), (1999, 1, 31)),
        ("1999 spring", (1999, 4, 1), (1999, 4, 30)),
        ("1999 SUMMER", (1999, 7, 1), (1999, 7, 31)),
        ("1999 fall", (1999, 10, 1), (1999, 10, 31)),
        ("3000", (3000, 1, 1), (3000, 12, 31)),
    ],
)
def test_a_date_covers_its_days(text, first, last):
    assert parse_date(text) == (date(*first), date(*last))


@pytest.mark.parametrize(
    "text", ["", "0000", "201", "2010/13", "2010/00", "2010/02/30", "2010 foo"]
)
def test_what_is_no_date(text):
    assert parse_date(text) is None
