"""Inputs that nobody would write: for each language bytes, soup, spoilt queries, nests, giants."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

BOOLEAN = Path(__file__).parents[3] / "shared" / "data" / "boolean"
SIZE = 100_000
"""Characters of a giant."""
PLAIN = (
    "(breast neoplasms[mh] OR “breast cancer”[tiab]) AND tamoxifen NOT 1990:2000[dp]",
    '"heart failure"[ti:~3] AND randomi*[tw] OR smith j[au] AND "last 5 years"[dp]',
    "1 exp Asthma/\n2 (wheez$ or asthma*).ti,ab.\n3 1 or 2\n4 limit 3 to yr=2000-2010",
    "(low adj3 back adj pain).tw. not exp *Neck Pain/dt, th",
    'AREA[Phase]PHASE3 AND (heart attack OR "lung cancer") NOT AREA[StartDate]RANGE[MIN, 2020-01]',
    "COVERAGE[FullMatch]\\ALL OR SEARCH[Location](AREA[LocationCity]Oslo AND TILT[StartDate]flu)",
)
PIECES = {
    "pubmed": (
        *'AND OR NOT and ( ) " “ ” [ ] : & | [ti] [tiab:~2] [mh:noexp]'.split(),
        *"[au] [dp] [pmid] [x] [".split(),
        *"rat cat diabet* a* 2010 2010/02 1 12345 #1 #99".split(),
        *"low-dose rats/bl smith j ~3 , / \\ % β ﬁ 𝕏 İ".split(),
        "last 5 years", "\0", "\ud800", "\n",
    ),
    "ovid": (
        *"( ) \" { } [ ] / * $ ? # . , : ; - or and not adj adj3 near exp".split(),
        *"rat cat$ c?t 1 #1 or/1-2".split(),
        *".ti. .ti,ab. .yr. exp Rats/ Rats/bl Rats/dt, freq=2 [mh] 1-2/or yr=2000".split(),
        *"limit to humans é".split(),
        "\n", "\n3. ", " adj2 (", "limit 1 to ", "remove duplicates from 1", "from 1 keep 2",
        "\0", "\ud800",
    ),
    "essie": (
        *"AND OR NOT ( ) \" [ ] \\ , ALL \\ALL MISSING heart attack flu MIN MAX".split(),
        *"2020-01 PHASE3 é".split(),
        "AREA[Phase]", "AREA[", "SEARCH[Location](", "RANGE[", "RANGE[MIN, MAX]", "TILT[StartDate]",
        "COVERAGE[FullMatch]", "EXPANSION[None]", "AREA[StartDate]RANGE[2010-01,2020]",
        "\n", "\0", "\ud800",
    ),
}  # fmt: skip
OPENERS = {
    "pubmed": ("(", "rat NOT (", "(cat OR ", '"'),
    "ovid": ("(", "not (", "(cat or ", "(cat adj2 (", "["),
    "essie": ("(", "NOT (", "(flu OR ", "AREA[Phase](", "SEARCH[Location](", "TILT[StartDate]("),
}


def real_queries() -> list[str]:
    """Queries of review authors where the shared data is at hand, and six of our own."""
    path = BOOLEAN / "pubmed_boolean_queries.jsonl"
    rows = path.read_text().splitlines() if path.exists() else []
    return [*PLAIN, *(json.loads(row)["query"] for row in rows)]


def inputs(language: str, count: int, seed: int, giants: int) -> Iterator[str]:
    """`count` inputs, of which `giants` have `SIZE` characters."""
    draw = random.Random(f"{language} {seed}")
    real = real_queries()
    every = max(1, count // max(1, giants))
    for number in range(count):
        if giants and number % every == every - 1:
            yield _giant(draw, language, real)
        else:
            yield draw.choice((_bytes, _soup, _spoilt, _nest))(draw, language, real)


def _bytes(draw: random.Random, language: str, real: Sequence[str]) -> str:
    raw = draw.randbytes(draw.randint(0, 80))
    return draw.choice(
        (
            raw.decode("utf-8", "surrogateescape"),
            raw.decode("latin-1"),
            raw[: len(raw) // 2 * 2].decode("utf-16-le", "surrogatepass"),
        )
    )


def _soup(draw: random.Random, language: str, real: Sequence[str]) -> str:
    return draw.choice(("", " ", " ")).join(draw.choices(PIECES[language], k=draw.randint(1, 30)))


def _spoilt(draw: random.Random, language: str, real: Sequence[str]) -> str:
    text = draw.choice(real)[: draw.choice((60, 300, 3000))]
    for _ in range(draw.randint(1, 6)):
        at, length = draw.randint(0, len(text)), draw.randint(0, 5)
        piece = draw.choice((draw.choice(PIECES[language]), "", chr(draw.randrange(0x3000))))
        text = text[:at] + piece + text[at + length :]
    return text


def _nest(draw: random.Random, language: str, real: Sequence[str]) -> str:
    opener, depth = draw.choice(OPENERS[language]), draw.randint(1, 60)
    return opener * depth + "cat" + ")" * max(0, depth + draw.randint(-2, 2))


def _giant(draw: random.Random, language: str, real: Sequence[str]) -> str:
    kind = draw.randrange(6)
    if kind == 0:
        return (draw.choice(OPENERS[language]) * SIZE)[: SIZE // 2] + "cat" + ")" * (SIZE // 2)
    if kind == 1:
        return draw.randbytes(SIZE).decode("latin-1")
    if kind == 2:
        return " ".join(draw.choices(PIECES[language], k=SIZE // 3))[:SIZE]
    if kind == 3:
        return (draw.choice((" ", "\n", " OR ")).join(draw.choices(real, k=60)) * 9)[:SIZE]
    if kind == 4:
        return (draw.choice(PIECES[language]) + draw.choice(("", " ", "\n"))) * (SIZE // 5)
    unit = "".join(draw.choices(PIECES[language], k=draw.randint(2, 6)))
    return (unit * SIZE)[:SIZE]
