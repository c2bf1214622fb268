"""A tag of a launch file, whichever language it was written in."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class Entity:
    """Base of the tags of all languages: its attributes by name and type, and the tags inside it.

    Whatever it says must be asked for before `assert_entity_completely_parsed`, or that complains.
    """

    @property
    def type_name(self) -> str:
        """The name of the tag."""
        raise NotImplementedError(f"{type(self).__name__} must implement type_name")

    @property
    def parent(self) -> Entity | None:
        """The tag around it, or None."""
        raise NotImplementedError(f"{type(self).__name__} must implement parent")

    @property
    def children(self) -> list[Entity]:
        """All tags inside, which count as asked for."""
        raise NotImplementedError(f"{type(self).__name__} must implement children")

    def get_attr(
        self, name: str, *, data_type: Any = str, optional: bool = False, can_be_str: bool = True
    ) -> Any:
        """An attribute as a bool, a number, text, or a typing.List of them; None for any type.

        `List[Entity]` asks for the tags of that name inside. `can_be_str` lets text through that may become
        of the type once its substitutions are performed. An optional attribute that is missing is None.
        Raises AttributeError for another that is missing, TypeError for one of another type.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement get_attr()")

    def assert_entity_completely_parsed(self) -> None:
        """Raise ValueError for attributes and tags nobody has asked for."""
        raise NotImplementedError(f"{type(self).__name__} must implement assert_entity_completely_parsed()")


def describe_type(data_type: Any) -> str:
    """A type as the writer of a launch file knows it."""
    if data_type is bool:
        return "true or false"
    return str(getattr(data_type, "__name__", data_type)) if isinstance(data_type, type) else str(data_type)


def refuse_left_over(tag: str, what: str, left_over: Iterable[str], known: Iterable[str]) -> None:
    """Raise ValueError where something is left over, with the name that was probably meant."""
    names = sorted(left_over)
    if not names:
        return
    known = sorted(known)
    near = difflib.get_close_matches(names[0], known, n=1)
    allowed = f"did you mean '{near[0]}'?" if near else f"allowed: {', '.join(known) or 'nothing'}"
    listed = ", ".join(f"'{name}'" for name in names)
    raise ValueError(f"`{tag}` has no {what} {listed}; {allowed}")
