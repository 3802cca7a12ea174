"""What can go wrong in an evaluation that a person can mend."""


class IREvaluationError(RuntimeError):
    """The evaluation cannot be done or was broken off; nothing was scored."""


class RunFileError(ValueError):
    """A TREC run file is malformed; the message names file and line."""
