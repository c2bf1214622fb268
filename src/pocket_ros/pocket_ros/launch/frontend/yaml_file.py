"""Launch files in YAML."""

from __future__ import annotations

from os import PathLike
from typing import Any, TextIO

import yaml

from ..utilities import extract_type, is_instance_of
from .parser import Entity as BaseEntity
from .parser import Parser as BaseParser
from .parser import check_is_list_entity, describe_type, refuse_left_over


class Entity(BaseEntity):
    """A key and what it maps to: attributes, with the tags inside under `children`, or a list of tags.

    Values have their types from YAML. Numbers and truth values serve as text, and integers as floats.
    """

    def __init__(self, element: Any, type_name: str = "", *, parent: Entity | None = None) -> None:
        # A tag without attributes is written `tag:`, which YAML reads as nothing.
        self._element: Any = {} if element is None else element
        self._type_name = type_name
        self._parent = parent
        self._asked: set[str] = set()
        if not isinstance(self._element, dict | list):
            raise TypeError(f"`{type_name}` holds {element!r}, it must hold tags or attributes")

    @property
    def type_name(self) -> str:
        return self._type_name

    @property
    def parent(self) -> Entity | None:
        return self._parent

    @property
    def children(self) -> list[BaseEntity]:
        self._asked.add("children")
        if isinstance(self._element, dict) and "children" not in self._element:
            raise ValueError(
                f"`{self._type_name}` needs tags inside it: a list of them, or one under 'children'"
            )
        inside = self._element if isinstance(self._element, list) else self._element["children"]
        found: list[BaseEntity] = []
        for child in inside or []:
            if not isinstance(child, dict) or len(child) != 1:
                raise RuntimeError(
                    f"a tag in `{self._type_name}` must be one key with what it maps to, got {child!r}"
                )
            ((name, element),) = child.items()
            found.append(Entity(element, str(name), parent=self))
        return found

    def get_attr(
        self, name: str, *, data_type: Any = str, optional: bool = False, can_be_str: bool = True
    ) -> Any:
        self._asked.add(name)
        if isinstance(self._element, list) or name not in self._element:
            if optional:
                return None
            raise AttributeError(f"`{self._type_name}` needs the attribute '{name}'")
        value = self._element[name]
        if check_is_list_entity(data_type):
            if isinstance(value, list) and all(isinstance(item, dict) for item in value):
                return [Entity(item, name, parent=self) for item in value]
            raise TypeError(f"'{name}' of `{self._type_name}` must be a list of attributes, got {value!r}")
        value = _widened(value, data_type)
        if not is_instance_of(value, data_type, can_be_str=can_be_str):
            raise TypeError(
                f"'{name}' of `{self._type_name}` must be {describe_type(data_type)}, got {value!r}"
            )
        return value

    def assert_entity_completely_parsed(self) -> None:
        if isinstance(self._element, list):
            if "children" not in self._asked:
                raise ValueError(f"`{self._type_name}` has no tags inside it, got {self._element!r}")
            return
        refuse_left_over(
            self._type_name, "attribute", set(map(str, self._element)) - self._asked, self._asked
        )


def _widened(value: Any, data_type: Any) -> Any:
    if data_type is None:
        return value
    wanted, is_list = extract_type(data_type)
    if is_list:
        return [_widened(item, wanted) for item in value] if isinstance(value, list) else value
    if wanted is str and isinstance(value, bool):
        return str(value).lower()
    if wanted is str and isinstance(value, int | float):
        return str(value)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


class Parser(BaseParser):
    """Reads launch files in YAML."""

    @classmethod
    def load(cls, file: str | PathLike[str] | TextIO) -> tuple[BaseEntity, BaseParser]:
        if isinstance(file, str | PathLike):
            with open(file, encoding="utf-8") as stream:
                return cls.load(stream)
        tree = yaml.safe_load(file)
        if not isinstance(tree, dict) or len(tree) != 1:
            raise RuntimeError("a launch file in YAML is one key, 'launch', with a list of tags")
        ((name, element),) = tree.items()
        return Entity(element, str(name)), cls()

    @classmethod
    def get_file_extensions(cls) -> set[str]:
        return {"launch.yaml", "launch.yml", "yaml", "yml", "launch"}
