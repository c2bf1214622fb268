"""Tests after the end of the processes."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import TypeVar

Case = TypeVar("Case", bound=type[unittest.TestCase])


def post_shutdown_test() -> Callable[[Case], Case]:
    """Decorates a test class that runs when all processes have ended."""

    def decorate(test_class: Case) -> Case:
        if not (isinstance(test_class, type) and issubclass(test_class, unittest.TestCase)):
            raise TypeError("post_shutdown_test decorates classes derived from unittest.TestCase")
        test_class.__post_shutdown_test__ = True  # type: ignore[attr-defined]
        return test_class

    return decorate
