"""What can be wrong with a dense index that a person can mend."""


class DenseError(ValueError):
    """A dense index cannot be built, opened or used so; the message says what to do."""


class DenseMismatchError(DenseError):
    """The index belongs to another corpus or another model; both are named."""


class TrainingSizeError(DenseError):
    """Too few vectors to train the kind of index that was asked for."""


class RemovalError(DenseError):
    """This kind of index cannot forget vectors."""
