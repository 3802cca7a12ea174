"""What goes wrong with corpora."""


class CorpusError(ValueError):
    """A corpus file that cannot be read: the message names the file and the place."""
