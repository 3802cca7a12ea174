"""Statistics over all studies of an index: sizes of records, of lists, and values of fields."""

import gzip
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from actors.search.trials.fields import FIELDS, Field, walk
from actors.search.trials.study import Study, study_id

TOP_VALUES, TOP_SIZES, LARGEST = 250, 250, 10
_PERCENTILES = (5, 10, 25, 50, 75, 90, 95, 99)
_KINDS = {"boolean": "BOOLEAN", "integer": "INTEGER", "date": "DATE"}


def kind_of(leaf: Field) -> str:
    """The service's name for the kind of a leaf: ENUM, STRING, DATE, INTEGER or BOOLEAN."""
    return "ENUM" if leaf.is_enum else _KINDS.get(leaf.type, "STRING")


@dataclass(slots=True)
class _Values:
    counts: Counter[Any] = field(default_factory=Counter)  # of studies
    studies: int = 0
    longest: tuple[int, str, str] = (0, "", "")
    total: float = 0.0
    number: int = 0


@dataclass(slots=True)
class Tally:
    """What one pass over the studies counts."""

    studies: int = 0
    values: dict[str, _Values] = field(default_factory=dict)
    sizes: dict[str, Counter[int]] = field(default_factory=dict)
    bytes: list[tuple[int, str]] = field(default_factory=list)


def tally(studies: Iterable[Study]) -> Tally:
    """Count values, list sizes and gzipped sizes of all `studies`."""
    out = Tally()
    for study in studies:
        out.studies += 1
        id_ = study_id(study)
        out.bytes.append((len(gzip.compress(orjson.dumps(study), 6, mtime=0)), id_))
        for node, items in walk(study):
            if node.many:
                out.sizes.setdefault(node.piece, Counter())[len(items)] += 1
            if node.type and node.type != "geo":
                _count(out.values.setdefault(node.piece, _Values()), items, id_)
    return out


def _count(values: _Values, items: list[Any], id_: str) -> None:
    values.studies += 1
    values.counts.update(set(map(_hashable, items)))
    for item in items:
        if isinstance(item, int | float) and not isinstance(item, bool):
            values.total += item
            values.number += 1
        elif isinstance(item, str) and len(item) > values.longest[0]:
            values.longest = (len(item), id_, item)


def _hashable(item: Any) -> Any:
    return item if isinstance(item, str | int | float | bool) else str(item)


def _head(leaf: Field, kind: str, found: _Values | None, studies: int) -> dict[str, Any]:
    missing = studies - (found.studies if found else 0)
    return {
        "type": kind,
        "piece": leaf.piece,
        "field": leaf.dotted,
        "missingStudiesCount": missing,
    }


def _top(counts: Counter[Any], limit: int, name: str, key: Callable[[Any], Any]) -> list[Any]:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
    return [{name: key(value), "studiesCount": count} for value, count in ordered[:limit]]


def field_values(counted: Tally, leaf: Field) -> dict[str, Any]:
    """The entry of `leaf` in `/stats/field/values`."""
    kind, found = kind_of(leaf), counted.values.get(leaf.piece)
    out = _head(leaf, kind, found, counted.studies)
    counts = found.counts if found else Counter[Any]()
    if kind == "BOOLEAN":
        return out | {"falseCount": counts[False], "trueCount": counts[True]}
    if kind == "DATE":
        texts = sorted(str(value) for value in counts)
        formats = sorted({_date_format(text) for text in texts})
        if texts:
            out |= {"min": texts[0], "max": texts[-1]}
        return out | {"formats": formats}
    if kind == "INTEGER":
        if not found or not found.number:
            return out
        average = found.total / found.number
        return out | {"min": min(counts), "max": max(counts), "avg": average}
    out["uniqueValuesCount"] = len(counts)
    if counts:
        out["topValues"] = _top(counts, TOP_VALUES, "value", str)
    if kind == "STRING" and found:
        length, id_, value = found.longest
        out["longest"] = {"length": length, "nctId": id_, "value": value}
    return out


def _date_format(text: str) -> str:
    return {4: "yyyy", 7: "yyyy-MM", 10: "yyyy-MM-dd"}.get(len(text), "yyyy-MM-dd'T'HH:mm")


def list_sizes(counted: Tally, node: Field) -> dict[str, Any]:
    """The entry of list `node` in `/stats/field/sizes`."""
    sizes = counted.sizes.get(node.piece, Counter())
    out: dict[str, Any] = {"piece": node.piece, "field": node.dotted}
    out["uniqueSizesCount"] = len(sizes)
    if sizes:
        top = _top(sizes, TOP_SIZES, "size", int)
        out |= {"minSize": min(sizes), "maxSize": max(sizes), "topSizes": top}
    return out


def size_statistics(counted: Tally) -> dict[str, Any]:
    """The body of `/stats/size`: gzipped JSON sizes in bytes."""
    sizes = sorted(size for size, _ in counted.bytes)
    largest = sorted(counted.bytes, key=lambda pair: (-pair[0], pair[1]))[:LARGEST]
    ranges: Counter[int] = Counter(max(size - 1, 0).bit_length() for size in sizes)
    return {
        "totalStudies": counted.studies,
        "averageSizeBytes": round(sum(sizes) / max(len(sizes), 1)),
        "percentiles": {
            str(p): sizes[min(len(sizes) - 1, len(sizes) * p // 100)] for p in _PERCENTILES if sizes
        },
        "ranges": [
            {"sizeRange": f"{(1 << bits) >> 1}-{1 << bits} bytes", "studiesCount": count}
            for bits, count in sorted(ranges.items())
        ],
        "largestStudies": [{"id": id_, "sizeBytes": size} for size, id_ in largest],
    }


LISTS = tuple(node for node in FIELDS.values() if node.many)
"""Fields that are lists."""
