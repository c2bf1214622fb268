"""Launch arguments on a command line."""

from __future__ import annotations

from collections.abc import Iterable


def parse_launch_arguments(launch_arguments: Iterable[str]) -> list[tuple[str, str]]:
    """Names and values, of which the last one counts. Raises RuntimeError unless all are name:=value."""
    found: dict[str, str] = {}
    for argument in launch_arguments:
        name, separator, value = argument.partition(":=")
        if not name or not separator or not value:
            raise RuntimeError(f"malformed launch argument '{argument}', expected format '<name>:=<value>'")
        found[name] = value
    return list(found.items())
