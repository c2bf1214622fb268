"""Launch files in XML."""

from __future__ import annotations

from os import PathLike
from typing import Any, TextIO
from xml.etree import ElementTree

from ..utilities import get_typed_value
from .parser import Entity as BaseEntity
from .parser import Parser as BaseParser
from .parser import check_is_list_entity, describe_type, refuse_left_over


class Entity(BaseEntity):
    """An XML element. Attributes are text, which is converted; `<name>-sep` splits one into a list."""

    def __init__(self, xml_element: ElementTree.Element, *, parent: Entity | None = None) -> None:
        self._element = xml_element
        self._parent = parent
        self._attributes_asked: set[str] = set()
        self._tags_asked: set[str] = set()

    @property
    def type_name(self) -> str:
        return self._element.tag

    @property
    def parent(self) -> Entity | None:
        return self._parent

    @property
    def children(self) -> list[BaseEntity]:
        self._tags_asked.update(child.tag for child in self._element)
        return [Entity(child, parent=self) for child in self._element]

    def get_attr(
        self, name: str, *, data_type: Any = str, optional: bool = False, can_be_str: bool = True
    ) -> Any:
        if check_is_list_entity(data_type):
            self._tags_asked.add(name)
            inside = [Entity(child, parent=self) for child in self._element if child.tag == name]
            if not inside and not optional:
                raise AttributeError(f"`{self.type_name}` needs a tag <{name}> inside it")
            return inside or None
        self._attributes_asked.add(name)
        attributes = self._element.attrib
        if name not in attributes:
            if optional:
                return None
            raise AttributeError(f"`{self.type_name}` needs the attribute '{name}'")
        value: str | list[str] = attributes[name]
        if f"{name}-sep" in attributes:
            value = self._split(name)
        try:
            return get_typed_value(value, data_type, can_be_str=can_be_str)
        except ValueError as error:
            raise TypeError(
                f"'{name}' of `{self.type_name}` must be {describe_type(data_type)}, got '{attributes[name]}'"
            ) from error

    def _split(self, name: str) -> list[str]:
        separator = self._element.attrib[f"{name}-sep"]
        self._attributes_asked.add(f"{name}-sep")
        if not separator:
            raise ValueError(f"'{name}-sep' of `{self.type_name}` must be the text between the items")
        return self._element.attrib[name].split(separator)

    def assert_entity_completely_parsed(self) -> None:
        tag = self.type_name
        tags = {child.tag for child in self._element}
        refuse_left_over(tag, "tag inside it", tags - self._tags_asked, self._tags_asked)
        attributes = set(self._element.attrib)
        refuse_left_over(tag, "attribute", attributes - self._attributes_asked, self._attributes_asked)


class Parser(BaseParser):
    """Reads launch files in XML."""

    @classmethod
    def load(cls, file: str | PathLike[str] | TextIO) -> tuple[BaseEntity, BaseParser]:
        return Entity(ElementTree.parse(file).getroot()), cls()

    @classmethod
    def get_file_extensions(cls) -> set[str]:
        return {"launch.xml", "xml", "launch"}
