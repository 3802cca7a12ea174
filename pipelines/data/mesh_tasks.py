"""Tasks made from the records' own MeSH indexing: the indexers' judgement is the relevance.

Two kinds: a treated disease with what it is treated with (`mesh_pico_tasks`), and a major heading
with any other heading (`mesh_pair_tasks`). Queries must not see the MeSH fields: they would give
the answer away. Qualifier meanings: https://www.nlm.nih.gov/mesh/qualifiers_scopenotes.html.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from actors.search.types import MeshHeading, Record
from pipelines.data.task import Pico, Task

POPULATION_QUALIFIERS = frozenset(
    {
        *("diet therapy", "drug therapy", "prevention & control", "radiotherapy"),
        *("rehabilitation", "surgery", "therapy"),
        *("chemically induced", "diagnosis", "epidemiology", "etiology", "mortality"),
    }
)
"""Clinical qualifiers, of how a condition is treated and how it comes about: a heading that carries
one is what a patient has. `complications` is not among them: it mostly marks a bystander."""

INTERVENTION_QUALIFIERS = frozenset(
    {"therapeutic use", "administration & dosage", "adverse effects", "methods"}
)
"""Therapeutic qualifiers: a heading that carries one is what a patient gets."""

CHECK_TAGS = frozenset(
    {
        *("Humans", "Animals", "Male", "Female", "Pregnancy"),
        *("Infant, Newborn", "Infant", "Child, Preschool", "Child", "Adolescent", "Young Adult"),
        *("Adult", "Middle Aged", "Aged", "Aged, 80 and over"),
        *("Cats", "Cattle", "Chick Embryo", "Cricetinae", "Dogs", "Guinea Pigs", "Mice"),
        *("Rabbits", "Rats", "Swine", "In Vitro Techniques"),
    }
)
"""NLM's check tags, which say what was studied on, not what about."""

NOT_TOPICS = frozenset({"Time Factors"})
"""Headings that are no check tags but, in a need, would say nothing either."""

_Found = dict[tuple[str, str], set[str]]


def mesh_pico_tasks(records: Iterable[Record], *, corpus: str = "", least: int = 3) -> list[Task]:
    """One task for each pair (disease, treatment) that at least `least` records are indexed with.

    Population: a heading with a qualifier of `POPULATION_QUALIFIERS`; intervention: another heading
    of the same record with a qualifier of `INTERVENTION_QUALIFIERS`. Only records with an abstract
    count. Ids are "mesh-pico:<population UI>-<intervention UI>"; tasks come in the order of ids.
    """
    found: _Found = defaultdict(set)
    names: dict[str, str] = {}
    for record in records:
        if not record.abstract:
            continue
        populations = [h for h in record.mesh if _qualified(h, POPULATION_QUALIFIERS)]
        interventions = [h for h in record.mesh if _qualified(h, INTERVENTION_QUALIFIERS)]
        for population in populations:
            for intervention in interventions:
                _note(found, names, record.id, population, intervention)
    kept = {pair: ids for pair, ids in found.items() if len(ids) >= least}
    return _tasks("mesh-pico", kept, names, corpus)


def mesh_pair_tasks(
    records: Iterable[Record], *, corpus: str = "", least: int = 8, most: int = 200
) -> list[Task]:
    """One task for each pair (major heading, other heading) that `least` to `most` records share.

    Relevant are the records with an abstract that are indexed with both, one of them as a major
    topic; `CHECK_TAGS` and `NOT_TOPICS` are left out on both sides. Population is the heading that
    is more often the major one, intervention the other, so that no pair comes twice. Ids are
    "mesh-pair:<population UI>-<intervention UI>"; tasks come in the order of ids.
    """
    found: _Found = defaultdict(set)
    names: dict[str, str] = {}
    for record in records:
        if not record.abstract:
            continue
        headings = [h for h in record.mesh if h.descriptor not in CHECK_TAGS | NOT_TOPICS]
        for first in headings:
            if first.is_major:
                for second in headings:
                    _note(found, names, record.id, first, second)
    times_major = Counter({pair: len(ids) for pair, ids in found.items()})
    kept: _Found = {}
    for pair, ids in found.items():
        mirror = pair[1], pair[0]
        both = ids | found.get(mirror, set())
        leads = (times_major[pair], pair[1]) > (times_major[mirror], pair[0])
        if leads and least <= len(both) <= most:
            kept[pair] = both
    return _tasks("mesh-pair", kept, names, corpus)


def _qualified(heading: MeshHeading, qualifiers: frozenset[str]) -> bool:
    return any(qualifier in qualifiers for qualifier, _ in heading.qualifiers)


def _key(heading: MeshHeading) -> str:
    return heading.ui or heading.descriptor.replace(" ", "_")


def _note(
    found: _Found,
    names: dict[str, str],
    id: str,
    first: MeshHeading,
    second: MeshHeading,
) -> None:
    if first.descriptor == second.descriptor:
        return
    names[_key(first)], names[_key(second)] = first.descriptor, second.descriptor
    found[_key(first), _key(second)].add(id)


def _tasks(kind: str, found: _Found, names: dict[str, str], corpus: str) -> list[Task]:
    return [
        Task(
            id=f"{kind}:{first}-{second}",
            need=Pico(population=names[first], intervention=names[second]),
            relevant=frozenset(ids),
            corpus=corpus,
            topics=frozenset({names[first], names[second]}),
        )
        for (first, second), ids in sorted(found.items())
    ]
