"""Rules: what a feature adds to a world, and takes away again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

Rule = TypeVar("Rule")


class WorldRules(Generic[Rule]):
    """The rules of one kind in a simulation, in the order in which they were added."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def add(self, rule: Rule) -> None:
        """Apply `rule` from now on."""
        self._rules.append(rule)

    def remove(self, rule: Rule) -> None:
        """Apply `rule` no longer."""
        self._rules.remove(rule)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)
