"""How a study lies in the column index: which columns there are, and a study as a document.

Pieces that search areas name have text columns of their own; all others share the column `other`,
where each word carries its piece's number in front. Text is indexed as canonical words
(`lexical.normal`). The values columns hold presence and list sizes (`facts`), hyphenated compounds
(`compounds`) and names that the record itself equates (`equivalents`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from actors.search.index.schema import Document, Schema
from actors.search.trials.areas import AREAS
from actors.search.trials.enums import ENUMS
from actors.search.trials.fields import FIELDS, LEAVES, TEXT_TYPES, Field, ancestors, walk
from actors.search.trials.lexical import hyphenated, normal
from actors.search.trials.quantities import read_age, read_date
from actors.search.trials.study import Study, locations_of, study_id

ORDER = "StudyFirstPostDate"
OTHER, FACTS, COMPOUNDS, EQUIVALENTS = "other", "facts", "compounds", "equivalents"
EQUALS = " 0equals0 "
_FURTHER = ("DetailedDescription", "Sex", "OverallStatus", "HealthyVolunteers", "RemovedCountry")


def _own_columns() -> tuple[str, ...]:
    named = {piece for area in AREAS.values() for piece, _, _ in area.weights}
    named |= set(_FURTHER)
    return tuple(field.piece for field in LEAVES if field.piece in named)


OWN = frozenset(_own_columns())
"""Pieces with a text column of their own."""
DAYS = frozenset(f.piece for f in LEAVES if f.type == "date" and not f.repeated)
NUMBERS = frozenset(f.piece for f in LEAVES if f.type in ("integer", "age") and not f.repeated)
CODES = {field.piece: f"p{number}x" for number, field in enumerate(LEAVES)}

SCHEMA = Schema(
    name="trials",
    order=ORDER,
    text=(*_own_columns(), OTHER),
    values=(FACTS, COMPOUNDS, EQUIVALENTS),
    days=tuple(sorted(DAYS)),
    numbers=tuple(sorted(NUMBERS)),
)

LOCATION_LEAVES = FIELDS["Location"].leaves
LOCATION_SCHEMA = Schema(
    name="trial-locations",
    order="day",
    text=tuple(p for p in LOCATION_LEAVES if FIELDS[p].type != "geo"),
    values=(FACTS,),
    days=("day",),
    numbers=("latitude", "longitude"),
)
_LOCATION_PATH = len(FIELDS["Location"].path)


def indexed_texts(field: Field, value: Any) -> list[str]:
    """What is indexed of one value: an enumeration's also by its older name, booleans as words."""
    if field.is_enum:
        return list(dict.fromkeys((str(value), ENUMS[field.type].get(str(value), str(value)))))
    if field.type == "boolean":
        return ["true", "yes"] if value else ["false", "no"]
    return [str(value)]


def canonical_values(field: Field, items: Iterable[Any]) -> list[list[str]]:
    """The canonical words of every value of a leaf; values without words are left out."""
    found = []
    for value in items:
        seen: list[list[str]] = []
        for text in indexed_texts(field, value):
            words = normal(text)
            if words and words not in seen:
                seen.append(words)
        found += seen
    return found


def number_of(field: Field, value: Any) -> float | None:
    """A number or age (in days) as it is indexed."""
    if field.type == "age":
        return read_age(str(value))
    return float(value) if isinstance(value, int | float) else None


def day_of(value: Any) -> int:
    """The ordinal of a date's first day, 0 if it is none."""
    span = read_date(str(value))
    return span[0].toordinal() if span else 0


def to_document(study: Study) -> Document:
    """`study` as a document of `SCHEMA`. ValueError without a registry number."""
    text: dict[str, list[str]] = {}
    days: dict[str, int] = {}
    numbers: dict[str, float] = {}
    facts: dict[str, None] = {}
    compounds: set[tuple[str, str, str]] = set()
    for field, items in walk(study):
        piece = field.piece
        facts |= _facts(field, items)
        if not field.type or field.type == "geo":
            continue
        if piece in DAYS:
            days[piece] = day_of(items[0])
        elif piece in NUMBERS:
            number = number_of(field, items[0])
            if number is not None:
                numbers[piece] = number
        words = canonical_values(field, items)
        if piece in OWN:
            text[piece] = [" ".join(value) for value in words]
            if field.type in TEXT_TYPES:
                for value in items:
                    compounds |= hyphenated(str(value))
        else:
            code = CODES[piece]
            text.setdefault(OTHER, []).extend(
                " ".join(code + word for word in value) for value in words
            )
    return Document(
        id=study_id(study),
        text=text,
        values={
            FACTS: list(facts),
            COMPOUNDS: [" ".join(compound) for compound in sorted(compounds)],
            EQUIVALENTS: sorted(set(_equivalents(study))),
        },
        days=days,
        numbers=numbers,
        stored=orjson.dumps(study),
    )


def _facts(field: Field, items: Sequence[Any]) -> dict[str, None]:
    """That a leaf, and so the structures around it, have values; how long a list is."""
    found = dict.fromkeys([*ancestors(field), field.piece] if field.type else ())
    facts = {f"has {piece}": None for piece in found}
    if field.many:
        facts[f"size {field.piece} {len(items)}"] = None
    return facts


def _equivalents(study: Study) -> Iterator[str]:
    """Pairs of names that the record equates: a term as found and the vocabulary's name for it."""
    derived = study.get("derivedSection") or {}
    for module in ("conditionBrowseModule", "interventionBrowseModule"):
        for leaf in (derived.get(module) or {}).get("browseLeaves") or ():
            found, name = normal(leaf.get("asFound") or ""), normal(leaf.get("name") or "")
            if found and name and found != name:
                yield " ".join(found) + EQUALS + " ".join(name)


def location_documents(study: Study) -> Iterator[Document]:
    """Each site of `study` as a document of `LOCATION_SCHEMA`; its id is `NCT00000102 00003`."""
    number = study_id(study)
    for place, location in enumerate(locations_of(study)):
        text: dict[str, list[str]] = {}
        facts: dict[str, None] = {}
        wrapped: Any = {"contactsLocationsModule": {"locations": [location]}}
        for field, items in walk({"protocolSection": wrapped}):
            if len(field.path) < _LOCATION_PATH:
                continue
            facts |= _facts(field, items)
            if field.type and field.type != "geo":
                words = canonical_values(field, items)
                text[field.piece] = [" ".join(value) for value in words]
        point = location.get("geoPoint") or {}
        numbers = {}
        if "lat" in point and "lon" in point:
            numbers = {"latitude": float(point["lat"]), "longitude": float(point["lon"])}
        yield Document(f"{number} {place:05d}", text, {FACTS: list(facts)}, {}, numbers)
