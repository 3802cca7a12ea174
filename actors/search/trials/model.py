"""The service's descriptions of itself: fields, search areas, enumerations."""

from functools import cache
from typing import Any

from actors.search.trials.areas import AREAS, has_synonyms
from actors.search.trials.enums import ENUMS
from actors.search.trials.fields import FIELDS, LEAVES, ROOTS, Field

_SOURCES = {
    "text": "TEXT",
    "markup": "MARKUP",
    "boolean": "BOOLEAN",
    "integer": "NUMERIC",
    "date": "DATE",
    "age": "TIME",
    "geo": "GEO_POINT",
}
_TYPES = {"age": "NormalizedTime", "geo": "GeoPoint", "date": "PartialDate"}


def _node(field: Field) -> dict[str, Any]:
    type_ = _TYPES.get(field.type, field.type) or field.piece
    node: dict[str, Any] = {
        "name": field.name,
        "piece": field.piece,
        "sourceType": _SOURCES.get(field.type, "TEXT") if field.type else "STRUCT",
        "type": type_ + ("[]" if field.many else ""),
    }
    if field.is_enum:
        node["isEnum"] = True
    if field.type and has_synonyms(field):
        node["synonyms"] = True
    if field.piece == "Location":
        node["nested"] = True
    return node


@cache
def metadata() -> list[dict[str, Any]]:
    """The field tree of `/studies/metadata`."""
    nodes = {piece: _node(field) for piece, field in FIELDS.items()}
    for piece, field in FIELDS.items():
        if field.children:
            nodes[piece]["children"] = [nodes[child] for child in field.children]
    return [nodes[piece] for piece in ROOTS]


@cache
def search_areas() -> list[dict[str, Any]]:
    """The search document and its areas, as `/studies/search-areas` lists them."""
    areas = []
    for area in AREAS.values():
        named = {"name": area.name, "uiLabel": area.label, "param": area.param}
        parts = [
            {
                "pieces": list(part.pieces),
                "type": FIELDS[part.pieces[0]].type,
                "isEnum": FIELDS[part.pieces[0]].is_enum,
                "isSynonyms": part.synonyms,
                "weight": part.weight,
            }
            for part in area.parts
        ]
        areas.append({key: text for key, text in named.items() if text} | {"parts": parts})
    return [{"name": "Study", "areas": areas}]


@cache
def enums() -> list[dict[str, Any]]:
    """Every enumeration with its pieces, as `/studies/enums` lists them."""
    return [
        {
            "type": name,
            "pieces": [field.piece for field in LEAVES if field.type == name],
            "values": [{"value": v, "legacyValue": legacy} for v, legacy in values.items()],
        }
        for name, values in ENUMS.items()
    ]
