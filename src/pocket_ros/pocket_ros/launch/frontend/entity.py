"""A tag of a launch file, whichever language it was written in."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from ..substitution import Substitution

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class InvalidLaunchEntityError(ValueError):
    """A launch file that says something it cannot say; the text names the tag."""


class EmbeddedText(Substitution):
    """Text with substitutions written in it, such as `$(var robot)`."""

    def __init__(self, text: str) -> None:
        self.text = text

    def describe(self) -> str:
        return f"'{self.text}'"

    def perform(self, context: LaunchContext) -> str:
        from ...launch_ros.utilities.substitute_text import substitute_text

        return substitute_text(context, self.text)


class Entity:
    """A tag with its attributes and the tags inside it.

    Every attribute must be asked for, or `finish` complains.
    """

    def __init__(self, tag: str, attributes: dict[str, str], children: list[Entity]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children = children
        self._asked: set[str] = set()

    @classmethod
    def from_xml(cls, element: ElementTree.Element) -> Entity:
        """An XML element."""
        return cls(element.tag, dict(element.attrib), [cls.from_xml(child) for child in element])

    @classmethod
    def from_yaml(cls, tag: str, data: Any) -> Entity:
        """A YAML key with what it maps to. Raises InvalidLaunchEntityError."""
        attributes: dict[str, str] = {}
        children: list[Entity] = []
        items: list[dict[str, Any]] = data if isinstance(data, list) else [data or {}]
        for item in items:
            if not isinstance(item, dict):
                raise InvalidLaunchEntityError(f"'{tag}' holds {item!r}, it must hold tags or attributes")
            for key, value in item.items():
                if key == "children":
                    children += [cls.from_yaml(k, v) for child in value for k, v in child.items()]
                elif isinstance(data, list) and isinstance(value, dict | list):
                    children.append(cls.from_yaml(key, value))
                elif isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
                    children += [cls.from_yaml(key, entry) for entry in value]
                else:
                    attributes[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return cls(tag, attributes, children)

    def text(self, name: str) -> EmbeddedText:
        """A required attribute. Raises InvalidLaunchEntityError where it is missing."""
        found = self.optional(name)
        if found is None:
            raise InvalidLaunchEntityError(f"<{self.tag}> needs the attribute '{name}'")
        return found

    def optional(self, name: str) -> EmbeddedText | None:
        """An attribute, or None."""
        self._asked.add(name)
        return EmbeddedText(self.attributes[name]) if name in self.attributes else None

    def flag(self, name: str, default: bool) -> bool:
        """An attribute that says true or false."""
        self._asked.add(name)
        value = self.attributes.get(name, str(default)).lower()
        if value not in ("true", "false"):
            raise InvalidLaunchEntityError(f"<{self.tag} {name}> must be true or false, got '{value}'")
        return value == "true"

    def inside(self, tags: Iterable[str]) -> list[Entity]:
        """The tags inside, which must be among those. Raises InvalidLaunchEntityError."""
        allowed = set(tags)
        for child in self.children:
            if child.tag not in allowed:
                names = ", ".join(sorted(allowed)) or "nothing"
                raise InvalidLaunchEntityError(f"<{child.tag}> cannot be in <{self.tag}>; allowed: {names}")
        return self.children

    def finish(self) -> None:
        """Raise InvalidLaunchEntityError for an attribute nobody asked for."""
        for name in self.attributes:
            if name not in self._asked:
                near = difflib.get_close_matches(name, self._asked, n=1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise InvalidLaunchEntityError(f"<{self.tag}> has no attribute '{name}'{hint}")
