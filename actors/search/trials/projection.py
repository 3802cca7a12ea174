"""What part of a study an answer shows: the `fields` parameter and markup formats."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from actors.search.trials.areas import AREAS
from actors.search.trials.fields import FIELDS, find_field

Mask = dict[str, Any]
"""JSON name -> mask of what is kept below, None for all of it."""

_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!<>~|&^\"'$=:;,/?%@])")
_BULLET = re.compile(r"^( *)\* ", re.MULTILINE)


class UnknownFieldError(ValueError):
    """No piece, area, path or special name is called so."""


def pieces_named(name: str, queried: Sequence[str] = ()) -> tuple[str, ...]:
    """The pieces that one item of `fields` stands for; `@query` stands for `queried`.

    Raises UnknownFieldError.
    """
    if name == "@query":
        return tuple(queried)
    if name in AREAS:
        return tuple(piece for piece, _, _ in AREAS[name].weights)
    field = find_field(name)
    if field is None:
        raise UnknownFieldError(name)
    return (field.piece,)


def mask_of(pieces: Iterable[str]) -> Mask:
    """What to keep so that exactly `pieces` and all below them remain."""
    mask: Mask = {}
    for piece in pieces:
        node: Mask | None = mask
        *parents, last = FIELDS[piece].path
        for name in parents:
            assert node is not None
            if name in node and node[name] is None:
                node = None
                break
            node = node.setdefault(name, {})
        if node is not None:
            node[last] = None
    return mask


def project(value: Any, mask: Mask | None) -> Any:
    """The part of `value` that `mask` keeps, in its own order; None where nothing is left."""
    if mask is None:
        return value
    if isinstance(value, list):
        kept = [part for item in value if (part := project(item, mask)) is not None]
        return kept or None
    if not isinstance(value, dict):
        return None
    out = {}
    for name, below in value.items():
        if name in mask:
            part = project(below, mask[name])
            if part is not None:
                out[name] = part
    return out or None


def legacy_markup(text: str) -> str:
    """Markdown as the older system wrote it: no escapes, lists with dashes."""
    return _ESCAPE.sub(r"\1", _BULLET.sub(r"\1-  ", text))


_MARKUP_NAMES = frozenset(f.name for f in FIELDS.values() if f.type == "markup")


def with_legacy_markup(value: Any, name: str = "") -> Any:
    """A copy of `value` whose markup fields are in the older format."""
    if isinstance(value, dict):
        return {key: with_legacy_markup(below, key) for key, below in value.items()}
    if isinstance(value, list):
        return [with_legacy_markup(item, name) for item in value]
    return legacy_markup(value) if isinstance(value, str) and name in _MARKUP_NAMES else value
