"""How reports and findings are printed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ...module_places import not_covered
from .parts import Report

_LEAST_WIDTH = 8


def format_print(report: Report) -> None:
    """Print a report, its values below one another."""
    print("\n  ", report.name)
    width = compute_padding(report.items) if report.items else 0
    for name, value in report.items:
        print(f"{name:{width}}: {value}")


def compute_padding(report_items: Sequence[tuple[str, object]]) -> int:
    """How wide the column of names is."""
    longest = max(len(name) for name, _ in report_items)
    return longest + 4 if longest >= _LEAST_WIDTH else _LEAST_WIDTH


def doctor_warn(msg: str) -> None:
    """Print a warning with the place it comes from."""
    _warn(msg)


def doctor_error(msg: str) -> None:
    """Print an error with the place it comes from."""
    _warn(f"ERROR: {msg}")


def _warn(msg: str) -> None:
    def one_line(message: Any, category: type, filename: str, lineno: int, line: str | None = None) -> str:
        return f"{filename}: {lineno}: {category.__name__}: {message}\n"

    usual = warnings.formatwarning
    warnings.formatwarning = one_line
    try:
        warnings.warn(msg, stacklevel=3)
    finally:
        warnings.formatwarning = usual


__getattr__ = not_covered("ros2doctor.api.format")
