"""API v2 of ClinicalTrials.gov over a local index, as pure answers to paths and parameters.

Shapes, limits and error texts follow https://clinicaltrials.gov/data-api/api and recorded answers.
Not served: the formats `json.zip`, `fhir.json` and `ris` of a single study; `geoDecay` is checked
but does not change the order.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import date
from threading import Lock
from typing import Any

import orjson

from actors.search.http import Response
from actors.search.lookup import Atom
from actors.search.mesh import Mesh
from actors.search.trials import statistics
from actors.search.trials.areas import AREAS, find_area
from actors.search.trials.context import scoped_leaves
from actors.search.trials.evaluation import Evaluator
from actors.search.trials.fields import LEAVES, Field, find_field
from actors.search.trials.index import TrialsIndex
from actors.search.trials.model import enums, metadata, search_areas
from actors.search.trials.page_token import read_token, write_token
from actors.search.trials.projection import (
    Mask,
    UnknownFieldError,
    mask_of,
    pieces_named,
    project,
    with_legacy_markup,
)
from actors.search.trials.request import (
    ApiError,
    StudiesRequest,
    choice,
    flag,
    known,
    listed,
    page_size,
    studies_request,
)
from actors.search.trials.search import Ranked, ranked
from actors.search.trials.study import Study, nct_id
from actors.search.trials.table import COLUMNS, to_csv

API_VERSION = "2.0.5"
JSON, CSV, TEXT = "application/json", "text/csv", "text/plain; charset=UTF-8"
_STUDY = frozenset(("format", "markupFormat", "fields"))
_PAGES_KEPT = 64  # requests whose studies are kept in order, for their next pages
_EMPTY_DATE = "1970-01-01"


class TrialsService:
    """Answers GET requests below `/api/v2`; safe for threads."""

    def __init__(self, index: TrialsIndex, mesh: Mesh | None = None) -> None:
        self.index = index
        self.evaluator = Evaluator(index, mesh)
        self._kept: OrderedDict[tuple[tuple[str, str], ...], Ranked] = OrderedDict()
        self._lock = Lock()
        self._tally: statistics.Tally | None = None
        self._plain: dict[str, tuple[frozenset[str], Callable[[Mapping[str, str]], Any]]] = {
            "/studies/metadata": (
                frozenset(("includeIndexedOnly", "includeHistoricOnly")),
                self._metadata,
            ),
            "/studies/search-areas": (frozenset(), lambda _: search_areas()),
            "/studies/enums": (frozenset(), lambda _: enums()),
            "/stats/size": (frozenset(), lambda _: statistics.size_statistics(self.tally())),
            "/stats/field/values": (frozenset(("types", "fields")), self._values),
            "/stats/field/sizes": (frozenset(("fields",)), self._sizes),
            "/version": (frozenset(), lambda _: self._version()),
        }

    def get(self, path: str, parameters: Mapping[str, str]) -> Response:
        """The answer to `path` (from after `/api/v2`) with decoded `parameters`."""
        try:
            return self._get(path.rstrip("/"), parameters)
        except ApiError as error:
            return Response(error.status, TEXT, error.message.encode("utf-8", "replace"))

    def _get(self, path: str, parameters: Mapping[str, str]) -> Response:
        if path in self._plain:
            names, answer = self._plain[path]
            known(parameters, names)
            return _json(answer(parameters))
        if path == "/studies":
            return self._studies(parameters)
        if path.startswith("/studies/"):
            return self._study(path.removeprefix("/studies/"), parameters)
        raise ApiError(f"No such endpoint: {path or '/'}", 404)

    # Studies

    def _studies(self, parameters: Mapping[str, str]) -> Response:
        request = studies_request(parameters)
        size, counted = page_size(parameters), flag(parameters, "countTotal")
        format_ = choice(parameters, "format", ("json", "csv"))
        legacy = choice(parameters, "markupFormat", ("markdown", "legacy")) == "legacy"
        columns = _columns(parameters) if format_ == "csv" else ()
        mask = None if format_ == "csv" else self._mask(parameters, request)
        token = parameters.get("pageToken", "").strip()
        corpus = self.index.content_hash
        place = read_token(token, parameters, corpus) if token else 0
        found = self._ranked(parameters, request)
        studies = [self.index.study(o) for o in found.ordinals[place : place + size].tolist()]
        total = len(found.ordinals) if counted and not token else None
        after = place + size
        following = write_token(after, parameters, corpus) if after < len(found.ordinals) else None
        if format_ == "csv":
            headers = []
            if total is not None:
                headers.append(("x-total-count", str(total)))
            if following:
                headers.append(("x-next-page-token", following))
            text = to_csv(studies, columns, header=not token)
            return Response(200, CSV, text.encode(), tuple(headers))
        body: dict[str, Any] = {} if total is None else {"totalCount": total}
        body["studies"] = [_shown(study, mask, legacy) for study in studies]
        if following:
            body["nextPageToken"] = following
        return _json(body)

    def _ranked(self, parameters: Mapping[str, str], request: StudiesRequest) -> Ranked:
        shown = ("fields", "format", "markupFormat", "countTotal", "pageSize", "pageToken")
        key = tuple(sorted((n, v) for n, v in parameters.items() if n not in shown))
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                return kept
        found = ranked(self.evaluator, request)
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > _PAGES_KEPT:
                self._kept.popitem(last=False)
        return found

    def _study(self, name: str, parameters: Mapping[str, str]) -> Response:
        known(parameters, _STUDY)
        number = nct_id(name)
        if number is None:
            raise ApiError("Path parameter `nctId` has incorrect format")
        format_ = choice(parameters, "format", ("json", "csv", "json.zip", "fhir.json", "ris"))
        if format_ not in ("json", "csv"):
            raise ApiError(f"format `{format_}` is not served here", 501)
        legacy = choice(parameters, "markupFormat", ("markdown", "legacy")) == "legacy"
        ordinal = self.index.ordinal(number)
        if ordinal is None:
            alias = self.index.studies.find(Atom(("NCTIdAlias",), ("", number.lower(), "")))
            if not alias:
                raise ApiError(f"NCT number {number} not found", 404)
            to = f"/api/v2/studies/{self.index.ids[alias[0]]}"
            return Response(301, TEXT, b"", (("Location", to),))
        study = self.index.study(ordinal)
        if format_ == "csv":
            return Response(200, CSV, to_csv([study], _columns(parameters), True).encode())
        return _json(_shown(study, self._mask(parameters, StudiesRequest()), legacy))

    def _mask(self, parameters: Mapping[str, str], request: StudiesRequest) -> Mask | None:
        if "fields" not in parameters:
            return None
        names = listed(parameters["fields"])
        if not names:
            raise ApiError("Parameter `fields` must not be empty")
        pieces: list[str] = []
        queried = _queried(request) if "@query" in names else ()
        for name in names:
            try:
                pieces += pieces_named(name, queried)
            except UnknownFieldError as error:
                raise _invalid_field(name) from error
        return mask_of(pieces)

    # Descriptions

    def _metadata(self, parameters: Mapping[str, str]) -> Any:
        for name in ("includeIndexedOnly", "includeHistoricOnly"):
            flag(parameters, name)
        return metadata()

    def _version(self) -> dict[str, str]:
        days = self.index.studies.scalar("LastUpdatePostDate")
        newest = int(days.max(initial=0))
        day = date.fromordinal(newest).isoformat() if newest else _EMPTY_DATE
        return {"apiVersion": API_VERSION, "dataTimestamp": f"{day}T09:00:05"}

    # Statistics

    def tally(self) -> statistics.Tally:
        """Counts over all studies, made at the first call."""
        if self._tally is None:
            studies = (self.index.study(ordinal) for ordinal in range(self.index.size))
            self._tally = statistics.tally(studies)
        return self._tally

    def _values(self, parameters: Mapping[str, str]) -> Any:
        kinds = listed(parameters.get("types", ""))
        for kind in kinds:
            if kind not in ("ENUM", "STRING", "DATE", "INTEGER", "NUMBER", "BOOLEAN"):
                raise ApiError(f"Invalid value in parameter `types`: `{kind}`")
        leaves = _chosen(parameters, tuple(f for f in LEAVES if f.type != "geo"))
        return [
            statistics.field_values(self.tally(), leaf)
            for leaf in leaves
            if not kinds or statistics.kind_of(leaf) in kinds
        ]

    def _sizes(self, parameters: Mapping[str, str]) -> Any:
        lists = _chosen(parameters, statistics.LISTS)
        return [statistics.list_sizes(self.tally(), node) for node in lists]


def _chosen(parameters: Mapping[str, str], all_: tuple[Field, ...]) -> list[Field]:
    if "fields" not in parameters:
        return list(all_)
    chosen = []
    for name in listed(parameters["fields"]):
        field = find_field(name)
        if field is None or field not in all_:
            raise ApiError(f"Unknown piece name of field path: {name}", 404)
        chosen.append(field)
    if not chosen:
        raise ApiError("Parameter `fields` must not be empty")
    return chosen


def _columns(parameters: Mapping[str, str]) -> tuple[str, ...]:
    if "fields" not in parameters:
        return tuple(COLUMNS)
    names = listed(parameters["fields"])
    if not names:
        raise ApiError("Parameter `fields` must not be empty")
    for name in names:
        if name not in COLUMNS:
            raise _invalid_field(name)
    return tuple(names)


def _invalid_field(name: str) -> ApiError:
    return ApiError(f"Parameter 'fields' contains invalid field name: '{name}'")


def _queried(request: StudiesRequest) -> tuple[str, ...]:
    """The pieces that the queries search."""
    pieces: dict[str, None] = {}
    for query in request.queries:
        for _, _, scope in scoped_leaves(query.expression, query.area):
            area = AREAS.get(scope.area) or find_area(scope.area)
            for piece, _, _ in area.weights if area else ():
                pieces[piece] = None
    return tuple(pieces)


def _shown(study: Study, mask: Mask | None, legacy: bool) -> Any:
    shown = study if mask is None else project(study, mask) or {}
    return with_legacy_markup(shown) if legacy else shown


def _json(body: Any) -> Response:
    return Response(200, JSON, orjson.dumps(body))
