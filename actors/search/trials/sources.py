"""Leaves that are not words: ranges, presence, distances, list sizes, values of typed fields."""

import math
from datetime import date
from typing import Any

import numpy as np
from pyroaring import BitMap

from actors.search.index.postings import bitmap
from actors.search.lookup import Atom
from actors.search.trials.areas import Area, Part
from actors.search.trials.documents import (
    CODES,
    DAYS,
    FACTS,
    LOCATION_LEAVES,
    NUMBERS,
    OTHER,
    OWN,
    number_of,
)
from actors.search.trials.enums import ENUMS, enum_value
from actors.search.trials.essie import Distance, EssieError, Missing, Node, Range, Term
from actors.search.trials.exact import Exact
from actors.search.trials.fields import FIELDS, Field, values
from actors.search.trials.index import TrialsIndex
from actors.search.trials.lexical import normal
from actors.search.trials.quantities import (
    KILOMETRES,
    distances,
    read_age,
    read_date,
    read_number,
    read_radius,
)

SIZE = ":size"
_LONGEST_KM = 805.0
_LONGEST_MI = 500.0
_ALL = 2**31
_BOOLEANS = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}


class Sources:
    """Answers these leaves for the studies or the sites of one index."""

    def __init__(self, index: TrialsIndex, exact: Exact) -> None:
        self.index = index
        self.exact = exact

    def of_locations(self, area: Area) -> Area:
        """The part of `area` that sites have. Raises EssieError where there is none."""
        parts = []
        for part in area.parts:
            pieces = tuple(piece for piece in part.pieces if piece in LOCATION_LEAVES)
            if pieces:
                parts.append(Part(pieces, part.weight, part.synonyms))
        if not parts:
            raise EssieError(f"Unknown area name in SEARCH[Location]: `{area.name}`")
        return area if len(parts) == len(area.parts) else Area(area.name, "", "", tuple(parts))

    def _fact(self, fact: str, document: str) -> BitMap:
        lookup = self.index.studies if document == "Study" else self.index.locations
        return lookup.find(Atom((FACTS,), (" ".join(normal_fact(fact)),))) if lookup else BitMap()

    def present(self, area: Area, document: str) -> BitMap:
        """Documents with a value in any piece of `area`."""
        if area.name in FIELDS:
            return self._fact(f"has {area.name}", document)
        found = BitMap()
        for piece, _, _ in area.weights:
            found |= self._fact(f"has {piece}", document)
        return found

    def value(self, area: Area, term: Term, document: str) -> BitMap | None:
        """Documents with that value, where all of `area` is of one typed kind; None for text.

        Raises EssieError for a value that the type does not have.
        """
        kind = area.kind
        if kind is None:
            return None
        fields = [FIELDS[piece] for piece, _, _ in area.weights]
        text = " ".join(word.text for word in term.words)
        if kind in ENUMS:
            value = enum_value(kind, text)
            if value is None:
                raise EssieError(_allowed(fields[0]))
            return self._whole(fields, [value], document)
        if kind == "boolean":
            flag = _BOOLEANS.get(text.strip().lower())
            if flag is None:
                raise EssieError(
                    f"Allowed values for boolean field `{fields[0].dotted}` are `true`, `false`"
                )
            return self._whole(fields, ["true" if flag else "false"], document)
        if kind == "geo":
            raise EssieError(f"field `{fields[0].dotted}` is searched by DISTANCE only")
        return self.range(area, Range(text, text), document)

    def _whole(self, fields: list[Field], wanted: list[str], document: str) -> BitMap:
        lookup = self.index.studies if document == "Study" else self.index.locations
        found = BitMap()
        if lookup is None:
            return found
        for field in fields:
            own = document == "Location" or field.piece in OWN
            store, code = (field.piece, "") if own else (OTHER, CODES[field.piece])
            for value in wanted:
                words = tuple(code + word for word in normal(value))
                found |= lookup.find(Atom((store,), ("", *words, "")))
        return found

    def range(self, area: Area, node: Range, document: str) -> BitMap:
        """Documents with a value from `node.low` to `node.high` in any piece of `area`.

        Text and enumerations compare as text, case aside.
        """
        found = BitMap()
        for piece, _, _ in area.weights:
            found |= self._range(FIELDS[piece], node, document)
        return found

    def _range(self, field: Field, node: Range, document: str) -> BitMap:
        if field.type == "geo":
            raise EssieError(f"field `{field.dotted}` is searched by DISTANCE only")
        if field.type in ENUMS:
            low, high = node.low.upper(), node.high.upper()
            chosen = [
                value
                for value in ENUMS[field.type]
                if (low == "MIN" or low <= value) and (high == "MAX" or value <= high)
            ]
            return self._whole([field], chosen, document)
        bounds = _bounds(field, node)
        if document == "Study" and field.piece in DAYS:
            first, last = (date.fromordinal(int(day)) for day in bounds)
            return self.index.studies.dated(field.piece, first, last)
        if document == "Study" and field.piece in NUMBERS:
            return self.index.studies.between(field.piece, *bounds)

        def inside(record: Any) -> bool:
            return any(
                (key := _key(field, value)) is not None and bounds[0] <= key <= bounds[1]
                for value in values(record, field.path)
            )

        return self.exact.matching(self._fact(f"has {field.piece}", document), document, inside)

    def size(self, piece: str, node: Node, document: str) -> BitMap:
        """Documents whose list `piece` has so many items, or none for MISSING."""
        field = FIELDS.get(piece)
        if field is None or not field.many:
            raise EssieError(f"Unknown area name: `{piece}{SIZE}`")
        everything = self.index.all_studies if document == "Study" else self.index.all_locations
        if isinstance(node, Missing):
            return everything - self._fact(f"has {piece}", document)
        if isinstance(node, Term):
            text = " ".join(word.text for word in node.words)
            node = Range(text, text)
        if not isinstance(node, Range):
            raise EssieError(f"`{piece}{SIZE}` is a number")
        low, high = _ends(node, read_number, f"number `{piece}{SIZE}`")
        lookup = self.index.studies if document == "Study" else self.index.locations
        prefix = " ".join(normal_fact(f"size {piece} "))
        found = BitMap()
        for fact in lookup.variations((FACTS,), prefix + " ", _ALL) if lookup else ():
            if low <= float(fact.rsplit(" ", 1)[1]) <= high:
                found |= self._fact(fact, document)
        return found

    def distance(self, area: Area, node: Distance, document: str) -> BitMap:
        """Documents with a site within reach. Raises EssieError for impossible places."""
        if [piece for piece, _, _ in area.weights] != ["LocationGeoPoint"]:
            raise EssieError(f"DISTANCE needs a field of places, `{area.name}` is none")
        latitude, longitude = read_number(node.latitude), read_number(node.longitude)
        radius = read_radius(node.radius)
        shown = f"DISTANCE[{node.latitude}, {node.longitude}, {node.radius}]"
        if latitude is None or longitude is None or radius is None:
            raise EssieError(f"incorrect values in {shown}: write DISTANCE[39.0, -77.1, 25mi]")
        miles = radius / KILOMETRES["mi"]
        if not (radius >= 1 and (radius <= _LONGEST_KM or miles <= _LONGEST_MI)):
            raise EssieError(f"the radius in {shown} must be from 1mi or 1km to 500mi or 805km")
        sites = self.within(latitude, longitude, radius)
        return sites if document == "Location" else self.index.parents_of(sites)

    def within(self, latitude: float, longitude: float, radius_km: float) -> BitMap:
        """Sites within `radius_km` of a point in degrees. Raises EssieError off the globe."""
        if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
            raise EssieError(f"no place on earth has latitude {latitude}, longitude {longitude}")
        near = distances(latitude, longitude, self.index.points) <= radius_km
        return bitmap(np.flatnonzero(near).astype(np.uint32))


def normal_fact(fact: str) -> list[str]:
    """A fact as the values column holds it."""
    return fact.lower().split()


def _allowed(field: Field) -> str:
    listed = ", ".join(f"`{value}`" for value in ENUMS[field.type])
    return f"Allowed values for enum field `{field.dotted}` are {listed}"


def _key(field: Field, value: Any) -> Any:
    if field.type == "date":
        span = read_date(str(value))
        return span[0].toordinal() if span else None
    if field.type in ("integer", "age"):
        return number_of(field, value)
    if field.type == "boolean":
        return "true" if value else "false"
    return str(value).casefold()


def _bounds(field: Field, node: Range) -> tuple[Any, Any]:
    if field.type == "date":
        what = f"date field `{field.dotted}`"
        low, high = _ends(node, _first, what, 1, 0)[0], _ends(node, _last, what, 0, 3652059)[1]
        return low, high
    if field.type == "age":
        return _ends(node, read_age, f"age field `{field.dotted}`")
    if field.type == "integer":
        return _ends(node, read_number, f"number field `{field.dotted}`")
    least = "" if node.low == "MIN" else node.low.casefold()
    return least, chr(0x10FFFF) if node.high == "MAX" else node.high.casefold()


def _first(text: str) -> float | None:
    span = read_date(text)
    return span[0].toordinal() if span else None


def _last(text: str) -> float | None:
    span = read_date(text)
    return span[1].toordinal() if span else None


def _ends(
    node: Range, read: Any, what: str, least: float = -math.inf, most: float = math.inf
) -> tuple[float, float]:
    low = least if node.low == "MIN" else read(node.low)
    high = most if node.high == "MAX" else read(node.high)
    for text, value in ((node.low, low), (node.high, high)):
        if value is None:
            raise EssieError(f"Incorrect value `{text}` for {what}")
    return low, high
