"""Each of these once took time that grew with the square of the text, or faster."""

import time

import pytest

from actors.search.ovid import looks_like_ovid, parse_ovid

SPACE = " " * 90_000
TEXTS = {
    "note behind subheadings": "a/dt (" + "and" * 30_000 + "1",
    "space between a row's number and its text": "x\ny\n1" + SPACE + "x\nz",
    "space before an operator": "1" + SPACE + "and 2",
    "space before an operator behind #": "#1" + SPACE + "and 2",
    "space behind keep": "a\nfrom 1 keep" + SPACE + "x",
    "space behind yr=": "a\nlimit 1 to yr=" + SPACE + "!",
    "space in a year": '"2000' + SPACE + 'x".yr.',
    "brackets": ("[" * 4_999 + "]") * 20,
    "braces": "{" * 100_000,
    "numbers before no operator": "1," * 50_000,
    "slashes": "a/dt," * 20_000,
    "words": "a or " * 20_000,
    "quoted headings": '"a"/' * 25_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_hundred_kilobytes_are_read_in_a_second(text):
    start = time.process_time()
    parse_ovid(text)
    looks_like_ovid(text)
    assert time.process_time() - start < 2  # under 1 s where the processor has nothing else to do
