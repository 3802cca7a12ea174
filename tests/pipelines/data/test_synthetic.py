import re
from datetime import date
from itertools import islice, pairwise

import pytest

from actors.search.types import MeshHeading, Record
from pipelines.data import synthetic
from pipelines.data.synthetic import synthetic_records

REAL = [
    Record(
        str(n),
        title=f"Title of {n} with words",
        abstract=f"First sentence {n}. Second sentence {n}. Third {n}." if n % 2 else "",
        authors=(f"Smith {n}", f"Jones {n}"),
        full_authors=(f"Smith, {n}", f"Jones, {n}"),
        mesh=(MeshHeading(f"Heading {n}"), MeshHeading("Humans")),
        published=date(1979, 1, 1),
        published_precision="month",
        doi=f"10.1/{n}",
    )
    for n in range(50)
]


def test_the_same_seed_gives_the_same_corpus():
    assert list(synthetic_records(REAL, 300, 1)) == list(synthetic_records(REAL, 300, 1))
    assert list(synthetic_records(REAL, 300, 1)) != list(synthetic_records(REAL, 300, 2))
    assert list(synthetic_records(REAL, 300, 1))[:100] == list(synthetic_records(REAL, 100, 1))


def test_records_have_ids_of_their_own_and_the_shapes_of_real_ones():
    made = list(synthetic_records(REAL, 2000))
    assert len({record.id for record in made}) == 2000
    assert {len(record.authors) for record in made} == {2}
    assert {len(record.full_authors) for record in made} == {2}
    assert {len(record.mesh) for record in made} == {2}
    assert 0.4 < sum(bool(record.abstract) for record in made) / 2000 < 0.6
    assert not any(record.doi for record in made)
    years = {record.published.year for record in made}
    assert {1975, 2000, 2024} <= years
    mixed = [r for r in made if len(set(re.findall(r"sentence (\d+)", r.abstract))) == 2]
    assert len(mixed) > 300


def test_the_vocabulary_keeps_growing():
    made = islice(synthetic_records(REAL, 10**9), 8000)
    words, sizes = set(), []
    for number, record in enumerate(made, 1):
        words.update(record.abstract.split())
        if number % 2000 == 0:
            sizes.append(len(words))
    steps = [b - a for a, b in pairwise(sizes)]
    assert min(steps) > 100


def test_fresh_words_never_repeat():
    assert [synthetic._fresh(n) for n in (0, 1, 80)] == ["xbabaq", "xbebaq", "xbabeq"]
    assert len({synthetic._fresh(n) for n in range(200_000)}) == 200_000


def test_nothing_to_make_records_from():
    with pytest.raises(ValueError, match="no records"):
        next(synthetic_records([], 1))
