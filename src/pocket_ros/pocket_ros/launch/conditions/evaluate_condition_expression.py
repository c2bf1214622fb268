"""Text as a truth value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..substitution import Substitution
from ..utilities import perform_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


VALID_TRUE_EXPRESSIONS = ["true", "1"]
VALID_FALSE_EXPRESSIONS = ["false", "0"]


class InvalidConditionExpressionError(Exception):
    """A text that is neither true nor false."""


def evaluate_condition_expression(context: LaunchContext, expression: Iterable[Substitution]) -> bool:
    """True for `true` and `1`, False for `false` and `0`, in any case and with any space around.

    Raises InvalidConditionExpressionError for any other text.
    """
    text = perform_substitutions(context, expression).strip().lower()
    if text in VALID_TRUE_EXPRESSIONS:
        return True
    if text in VALID_FALSE_EXPRESSIONS:
        return False
    raise InvalidConditionExpressionError(
        "invalid condition expression, expected one of "
        f"[{', '.join([*VALID_TRUE_EXPRESSIONS, *VALID_FALSE_EXPRESSIONS])}] but got: '{text}'"
    )
