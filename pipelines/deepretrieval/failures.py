"""What ends a run or an evaluation. Imports nothing, so that the command can name them cheaply."""


class EvaluationError(RuntimeError):
    """An evaluation in which nothing could be scored."""


class TrainingError(RuntimeError):
    """The run cannot go on; the last checkpoint is intact."""
