"""How long a launch may take to become ready."""

from collections.abc import Callable
from typing import Any

DEFAULT_SECONDS = 15.0


def ready_to_test_action_timeout(
    timeout: float | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates `generate_test_description`: seconds until ReadyToTest must have been visited, 15
    without it.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__ready_to_test_action_timeout__ = (  # type: ignore[attr-defined]
            DEFAULT_SECONDS if timeout is None else float(timeout)
        )
        return function

    return decorate
