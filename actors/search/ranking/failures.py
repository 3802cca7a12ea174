"""What can be wrong with an index of passages that a person can mend."""


class PassagesError(ValueError):
    """An index of passages cannot be built, opened or used so; the message says what to do."""


class PassagesMismatchError(PassagesError):
    """The index was built from other passages, or in another way; both are named."""
