"""The actions of the policy: go on, or retrieve with one formulation and one integration."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from pipelines.realm.types import GO_ON, Decision, Formulation, Integration

GO_ON_INDEX = 0
M = TypeVar("M", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Actions:
    """Action 0 is to go on; the others are every formulation with every integration, in order."""

    formulations: tuple[Formulation, ...] = tuple(Formulation)
    integrations: tuple[Integration, ...] = tuple(Integration)

    def __post_init__(self) -> None:
        for name in ("formulations", "integrations"):
            values = getattr(self, name)
            if not values or len(set(values)) != len(values):
                raise ValueError(f"actions: {name} {list(values)} must be one or more, each once")

    @classmethod
    def of(cls, formulations: tuple[str, ...], integrations: tuple[str, ...]) -> "Actions":
        """From names. Raises `ValueError` for one that is unknown."""
        return cls(
            tuple(_member(Formulation, name) for name in formulations),
            tuple(_member(Integration, name) for name in integrations),
        )

    def __len__(self) -> int:
        return 1 + len(self.formulations) * len(self.integrations)

    @property
    def names(self) -> tuple[str, ...]:
        """`go_on`, then `formulation+integration`."""
        return ("go_on", *(f"{f}+{i}" for f in self.formulations for i in self.integrations))

    def decision(self, index: int) -> Decision:
        """What action `index` asks of the reasoner. Raises `IndexError`."""
        if not 0 <= index < len(self):
            raise IndexError(f"action {index} of {len(self)}")
        if index == GO_ON_INDEX:
            return GO_ON
        formulation, integration = divmod(index - 1, len(self.integrations))
        return Decision(True, self.formulations[formulation], self.integrations[integration])

    def index(self, decision: Decision) -> int:
        """The action that asks for this decision. Raises `ValueError` if none does."""
        if not decision.retrieve:
            return GO_ON_INDEX
        row = self.formulations.index(decision.formulation)
        return 1 + row * len(self.integrations) + self.integrations.index(decision.integration)


def _member(kind: type[M], name: str) -> M:
    try:
        return kind(name)
    except ValueError:
        known = ", ".join(kind)
        raise ValueError(f"{kind.__name__.lower()} {name!r} is not one of {known}") from None
