"""Truth values from texts: each gives `true` or `false`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.type_utils import coerce_to_type
from .substitution_failure import SubstitutionFailure

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


def _truth(context: LaunchContext, value: list[Substitution], who: Substitution) -> bool:
    text = perform_substitutions(context, value)
    try:
        return bool(coerce_to_type(text, bool))
    except ValueError as error:
        raise SubstitutionFailure(f"{type(who).__name__}: {error}") from error


def _text(value: bool) -> str:
    return "true" if value else "false"


class NotSubstitution(Substitution):
    """The opposite. Raises SubstitutionFailure for text that is no truth value."""

    def __init__(self, value: SomeSubstitutionsType) -> None:
        self._value = normalize_to_list_of_substitutions(value)

    def perform(self, context: LaunchContext) -> str:
        return _text(not _truth(context, self._value, self))


class _OfMany(Substitution):
    def __init__(self, *values: SomeSubstitutionsType) -> None:
        self._values = [normalize_to_list_of_substitutions(value) for value in values]

    def describe(self) -> str:
        parts = (" + ".join(part.describe() for part in value) for value in self._values)
        return f"{type(self).__name__}({', '.join(parts)})"

    def _truths(self, context: LaunchContext) -> list[bool]:
        """All of them, so that what is no truth value is found wherever it stands."""
        return [_truth(context, value, self) for value in self._values]


class AllSubstitution(_OfMany):
    """True when all are. Raises SubstitutionFailure for text that is no truth value."""

    def perform(self, context: LaunchContext) -> str:
        return _text(all(self._truths(context)))


class AnySubstitution(_OfMany):
    """True when one is. Raises SubstitutionFailure for text that is no truth value."""

    def perform(self, context: LaunchContext) -> str:
        return _text(any(self._truths(context)))


class AndSubstitution(AllSubstitution):
    """True when both are."""

    def __init__(self, left: SomeSubstitutionsType, right: SomeSubstitutionsType) -> None:
        super().__init__(left, right)


class OrSubstitution(AnySubstitution):
    """True when one of two is."""

    def __init__(self, left: SomeSubstitutionsType, right: SomeSubstitutionsType) -> None:
        super().__init__(left, right)


class EqualsSubstitution(Substitution):
    """True when both sides are the same text, the same truth value, or nearly the same number.

    None is the empty text.
    """

    def __init__(
        self,
        left: SomeSubstitutionsType | float | bool | None,
        right: SomeSubstitutionsType | float | bool | None,
    ) -> None:
        self._sides = [self._normalize(left), self._normalize(right)]

    @staticmethod
    def _normalize(value: SomeSubstitutionsType | float | bool | None) -> list[Substitution]:
        if value is None:
            return []
        plain = str(value).lower() if isinstance(value, bool) else value
        return normalize_to_list_of_substitutions(str(plain) if isinstance(plain, int | float) else plain)

    def describe(self) -> str:
        return f"{type(self).__name__}({', '.join(' + '.join(p.describe() for p in s) for s in self._sides)})"

    def _equal(self, context: LaunchContext) -> bool:
        left, right = (perform_substitutions(context, side) for side in self._sides)
        if left == right:
            return True
        if {left.lower(), right.lower()} in ({"true", "1"}, {"false", "0"}):
            return True
        if left.lower() == right.lower() and left.lower() in ("true", "false"):
            return True
        try:
            return abs(float(left) - float(right)) <= 1e-9 * max(abs(float(left)), abs(float(right)))
        except ValueError:
            return False

    def perform(self, context: LaunchContext) -> str:
        return _text(self._equal(context))


class NotEqualsSubstitution(EqualsSubstitution):
    """The opposite of EqualsSubstitution."""

    def perform(self, context: LaunchContext) -> str:
        return _text(not self._equal(context))


class IfElseSubstitution(Substitution):
    """One value where the condition is true, the other where it is not; one of the two may be left out.

    Raises RuntimeError where both are.
    """

    def __init__(
        self,
        condition: SomeSubstitutionsType,
        if_value: SomeSubstitutionsType = "",
        else_value: SomeSubstitutionsType = "",
    ) -> None:
        if not if_value and not else_value:
            raise RuntimeError("One of if_value and else_value must be specified")
        self._condition = normalize_to_list_of_substitutions(condition)
        self._if = normalize_to_list_of_substitutions(if_value)
        self._else = normalize_to_list_of_substitutions(else_value)

    def perform(self, context: LaunchContext) -> str:
        return perform_substitutions(
            context, self._if if _truth(context, self._condition, self) else self._else
        )
