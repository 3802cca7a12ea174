from datetime import date
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.search.pubmed_dates import make_date, medline_date, read_date


@pytest.mark.parametrize(
    ("text", "expected", "precision"),
    [
        ("1978 Jan-Feb", date(1978, 1, 1), "month"),
        ("1977-1978", date(1977, 1, 1), "year"),
        ("1978 Dec-1979 Jan", date(1978, 12, 1), "month"),
        ("1977 Jul 15-22", date(1977, 7, 15), "day"),
        ("1976-1977 Winter", date(1976, 1, 1), "month"),
        ("Spring 1979", date(1979, 4, 1), "month"),
        ("1978 Autumn", date(1978, 10, 1), "month"),
        ("1978 3d Quart", date(1978, 1, 1), "year"),
        ("no date", None, ""),
    ],
)
def test_free_text_dates_mean_their_start(text, expected, precision):
    assert medline_date(text) == (expected, precision)


@pytest.mark.parametrize(
    ("inside", "expected", "precision"),
    [
        ("<Year>1978</Year>", date(1978, 1, 1), "year"),
        ("<Year>1978</Year><Month>Feb</Month>", date(1978, 2, 1), "month"),
        ("<Year>1978</Year><Month>02</Month><Day>14</Day>", date(1978, 2, 14), "day"),
        ("<Year>1978</Year><Month>Feb</Month><Day>30</Day>", date(1978, 2, 1), "month"),
        ("<Year>1978</Year><Season>Winter</Season>", date(1978, 1, 1), "month"),
        ("<Year>1978</Year><Season>Summer</Season>", date(1978, 7, 1), "month"),
        ("<Year>1978</Year><Season>Fall</Season>", date(1978, 10, 1), "month"),
        ("<MedlineDate>1978 Nov-Dec</MedlineDate>", date(1978, 11, 1), "month"),
        ("<Month>Feb</Month>", None, ""),
        ("", None, ""),
    ],
)
def test_date_elements(inside, expected, precision):
    element = ElementTree.fromstring(f"<PubDate>{inside}</PubDate>")
    assert read_date(element) == (expected, precision)


def test_no_element_is_no_date():
    assert read_date(None) == (None, "")


@given(st.dates(), st.sampled_from(["%m", "%b", "%B"]))
def test_a_whole_date_comes_back(day, month_format):
    texts = (f"{day.year}", day.strftime(month_format), f"{day.day:02}")
    assert make_date(*texts) == (day, "day")


@given(st.text(), st.text(), st.text())
def test_any_text_is_a_date_or_none(year, month, day):
    found, precision = make_date(year, month, day)
    assert (found is None) == (precision == "")


@given(st.text())
def test_any_free_text_is_a_date_or_none(text):
    found, precision = medline_date(text)
    assert (found is None) == (precision == "")
