"""What a search over passages takes: they have no dates, no fields, and one order."""

from actors.search.types import QueryError, SearchRequest

MAX_QUERY_CHARACTERS = 200_000


def check(request: SearchRequest) -> QueryError | None:
    """The query's fault, if any. ValueError means that the request, not the query, is wrong."""
    if request.k < 0:
        raise ValueError(f"k is {request.k}, below 0")
    if request.date_to is not None:
        raise ValueError(f"date_to is {request.date_to}, but passages have no dates")
    if request.fields is not None:
        raise ValueError(f"fields are {list(request.fields)}, but passages have one text only")
    if len(request.query) > MAX_QUERY_CHARACTERS:
        return QueryError(
            f"the query has {len(request.query)} characters, at most {MAX_QUERY_CHARACTERS} are "
            "read",
            request.query,
            MAX_QUERY_CHARACTERS,
        )
    if not request.query.strip():
        return QueryError("the query is empty", request.query, 0)
    return None
