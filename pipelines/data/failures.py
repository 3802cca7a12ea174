"""What goes wrong with corpora."""


class CorpusError(ValueError):
    """A corpus file that cannot be read: the message names the file and the place."""


class BuildError(RuntimeError):
    """An index that cannot be built here and now; the message says why and what to do."""
