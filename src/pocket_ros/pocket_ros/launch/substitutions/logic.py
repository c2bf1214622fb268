"""Truth values from texts: each gives `true` or `false`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..frontend.expose import expose_substitution
from ..frontend.substitution_of_words import SubstitutionOfWords, Words
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import ParsedSubstitution, Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.substitutions import describe_substitutions
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


@expose_substitution("not")
class NotSubstitution(SubstitutionOfWords):
    """The opposite. Raises SubstitutionFailure for text that is no truth value."""

    _ros_words = Words("not", ("value",))

    def __init__(self, value: SomeSubstitutionsType) -> None:
        self._value = normalize_to_list_of_substitutions(value)

    @property
    def value(self) -> list[Substitution]:
        """The text, as substitutions."""
        return self._value

    def perform(self, context: LaunchContext) -> str:
        return _text(not _truth(context, self._value, self))


class _OfMany(Substitution):
    def __init__(self, *values: SomeSubstitutionsType) -> None:
        self._values = [normalize_to_list_of_substitutions(value) for value in values]

    @classmethod
    def parse(cls, data: Sequence[SomeSubstitutionsType]) -> ParsedSubstitution:
        """From any number of words."""
        return partial(cls, *data), {}

    @property
    def args(self) -> list[list[Substitution]]:
        """The texts, as substitutions."""
        return self._values

    def describe(self) -> str:
        parts = (describe_substitutions(value) for value in self._values)
        return f"{type(self).__name__}({', '.join(parts)})"

    def _truths(self, context: LaunchContext) -> list[bool]:
        """All of them, so that what is no truth value is found wherever it stands."""
        return [_truth(context, value, self) for value in self._values]


@expose_substitution("all")
class AllSubstitution(_OfMany):
    """True when all are. Raises SubstitutionFailure for text that is no truth value."""

    def perform(self, context: LaunchContext) -> str:
        return _text(all(self._truths(context)))


@expose_substitution("any")
class AnySubstitution(_OfMany):
    """True when one is. Raises SubstitutionFailure for text that is no truth value."""

    def perform(self, context: LaunchContext) -> str:
        return _text(any(self._truths(context)))


class _OfTwo(SubstitutionOfWords, _OfMany):
    def __init__(self, left: SomeSubstitutionsType, right: SomeSubstitutionsType) -> None:
        super().__init__(left, right)

    @property
    def left(self) -> list[Substitution]:
        """The first, as substitutions."""
        return self._values[0]

    @property
    def right(self) -> list[Substitution]:
        """The second, as substitutions."""
        return self._values[1]


@expose_substitution("and")
class AndSubstitution(_OfTwo, AllSubstitution):
    """True when both are."""

    _ros_words = Words("and", ("left", "right"))


@expose_substitution("or")
class OrSubstitution(_OfTwo, AnySubstitution):
    """True when one of two is."""

    _ros_words = Words("or", ("left", "right"))


@expose_substitution("equals")
class EqualsSubstitution(SubstitutionOfWords):
    """True when both sides are the same text, the same truth value, or nearly the same number.

    None is the empty text.
    """

    _ros_words = Words("equals", ("left", "right"))

    def __init__(
        self,
        left: SomeSubstitutionsType | float | bool | None,
        right: SomeSubstitutionsType | float | bool | None,
    ) -> None:
        self._sides = [self._normalize(left), self._normalize(right)]

    @property
    def left(self) -> list[Substitution]:
        """The first side, as substitutions."""
        return self._sides[0]

    @property
    def right(self) -> list[Substitution]:
        """The second side, as substitutions."""
        return self._sides[1]

    @staticmethod
    def _normalize(value: SomeSubstitutionsType | float | bool | None) -> list[Substitution]:
        if value is None:
            return []
        plain = str(value).lower() if isinstance(value, bool) else value
        return normalize_to_list_of_substitutions(str(plain) if isinstance(plain, int | float) else plain)

    def describe(self) -> str:
        return f"{type(self).__name__}({', '.join(describe_substitutions(s) for s in self._sides)})"

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


@expose_substitution("not-equals")
class NotEqualsSubstitution(EqualsSubstitution):
    """The opposite of EqualsSubstitution."""

    _ros_words = Words("not-equals", ("left", "right"))

    def perform(self, context: LaunchContext) -> str:
        return _text(not self._equal(context))


@expose_substitution("if")
class IfElseSubstitution(SubstitutionOfWords):
    """One value where the condition is true, the other where it is not; one of the two may be left out.

    Raises RuntimeError where both are.
    """

    _ros_words = Words("if", ("condition", "if_value", "else_value"), optional=1)

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

    @property
    def condition(self) -> list[Substitution]:
        """The condition, as substitutions."""
        return self._condition

    @property
    def if_value(self) -> list[Substitution]:
        """The value where it is true."""
        return self._if

    @property
    def else_value(self) -> list[Substitution]:
        """The value where it is false."""
        return self._else

    def perform(self, context: LaunchContext) -> str:
        return perform_substitutions(
            context, self._if if _truth(context, self._condition, self) else self._else
        )
