"""A trial query as parameters of API v2: an Essie expression, or a JSON object of parameters."""

import json
from dataclasses import dataclass, field

from actors.search.live.errors import QueryRefusedError
from actors.search.live.trials_v2 import FILTERS, QUERY_AREAS


@dataclass(slots=True)
class TrialQuery:
    """`query` by area, `filters` by name, and what else the query itself settles."""

    query: dict[str, str] = field(default_factory=dict)
    filters: dict[str, str] = field(default_factory=dict)
    agg_filters: str = ""
    sort: tuple[str, ...] = ()


def read_trial_query(text: str, area: str) -> TrialQuery:
    """`text` searches `area`, unless it is JSON such as `{"cond": "x", "filter.ids": "y"}`.

    A bare name is that of an area. Raises QueryRefusedError as the service would.
    """
    if not text.lstrip().startswith("{"):
        if not text.strip():
            raise QueryRefusedError("the query is blank", 0)
        return TrialQuery({area: text})
    try:
        given = json.loads(text)
    except ValueError as error:
        place = getattr(error, "pos", None)
        raise QueryRefusedError(f"the query begins as JSON but is none: {error}", place) from None
    except RecursionError:
        raise QueryRefusedError("the query is JSON nested too deeply", 0) from None
    found = TrialQuery()
    for name, value in given.items():
        if not isinstance(value, str | int | bool):
            raise QueryRefusedError(f"the value of {name!r} in the query is not text")
        _add(found, name, str(value).lower() if isinstance(value, bool) else str(value))
    if not any(part.strip() for part in (*found.query.values(), *found.filters.values())):
        raise QueryRefusedError("the query is blank", 0)
    return found


def _add(found: TrialQuery, name: str, value: str) -> None:
    kind, dot, rest = name.partition(".")
    if not dot and kind in QUERY_AREAS:
        found.query[kind] = value
    elif kind == "query" and rest in QUERY_AREAS:
        found.query[rest] = value
    elif kind == "filter" and rest in FILTERS:
        found.filters[rest] = value
    elif name == "aggFilters":
        found.agg_filters = value
    elif name == "sort":
        found.sort = tuple(value.replace(",", "|").split("|"))
    else:
        raise QueryRefusedError(f"`{name}` is unknown parameter")
