"""Marks for launch descriptions and tests."""

from __future__ import annotations

import functools
import time
import unittest
from collections.abc import Callable
from typing import Any


def keep_alive(test_description: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates `generate_test_description`: tests go on when all processes have ended."""
    marks = getattr(test_description, "__markers__", {})
    test_description.__markers__ = {**marks, "keep_alive": True}  # type: ignore[attr-defined]
    return test_description


def retry_on_failure(
    *, times: int, delay: float | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a test: after a failed assertion it is tried again, `times` tries in all, `delay`
    seconds between.
    """
    if times < 1:
        raise ValueError(f"times must be 1 or more, got {times}")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(self: unittest.TestCase, *args: Any, **kwargs: Any) -> Any:
            for _ in range(times - 1):
                try:
                    return function(self, *args, **kwargs)
                except AssertionError:
                    if delay is not None:
                        time.sleep(delay)
            return function(self, *args, **kwargs)

        return wrapper

    return decorate
