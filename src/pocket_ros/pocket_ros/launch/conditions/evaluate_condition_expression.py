"""Text as a truth value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..substitution import Substitution
from ..utilities import perform_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class InvalidConditionExpressionError(Exception):
    """A text that is neither true nor false."""


def evaluate_condition_expression(context: LaunchContext, expression: Iterable[Substitution]) -> bool:
    """True for `true` and `1`, False for `false` and `0`, in any case and with any space around.

    Raises InvalidConditionExpressionError for any other text.
    """
    text = perform_substitutions(context, expression).strip().lower()
    if text in ("true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise InvalidConditionExpressionError(
        f"invalid condition expression, expected one of [true, 1, false, 0] but got: '{text}'"
    )
