"""Session engines by name."""

from typing import Any

from actors.rollout.sessions.types import SessionEngine

KINDS = ("vllm", "transformers", "completions")


def open_sessions(kind: str, model: str, **options: Any) -> SessionEngine:
    """The engine named `kind` for a model folder or hub id (the server's own name for it with
    "completions"). Takes the time that loading takes.

    Options are those of `VllmSessions`, `TransformersSessions` and `CompletionSessions`. Raises
    ValueError for another kind, and for options that the kind does not have.
    """
    try:
        if kind == "vllm":
            from actors.rollout.sessions.vllm_sessions import VllmSessions

            return VllmSessions(model, **options)
        if kind == "transformers":
            from actors.rollout.sessions.hf_sessions import TransformersSessions

            return TransformersSessions(model, **options)
        if kind == "completions":
            from actors.rollout.sessions.completions import CompletionSessions

            return CompletionSessions(model, **options)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise ValueError(f"sessions of kind {kind!r}: {error}") from error
    raise ValueError(f"no session engine {kind!r}; there are {', '.join(KINDS)}")
