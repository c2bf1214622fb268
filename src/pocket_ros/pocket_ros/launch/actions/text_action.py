"""Actions whose tags give texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..action import Action, Parsed
from ..frontend.attributes import texts
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions
from ..utilities.substitutions import describe_substitutions

if TYPE_CHECKING:
    from ..frontend.entity import Entity
    from ..frontend.parser import Parser


class TextAction(Action):
    """Base of actions that are made of required texts: a class says which attribute is which argument."""

    _ros_texts: ClassVar[Mapping[str, str]]
    """The attribute of the tag, by argument."""

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What the condition and the texts of the tag say."""
        return cls, super().parse(entity, parser)[1] | texts(entity, parser, **cls._ros_texts)


class NameAction(TextAction):
    """Base of actions on something that has a name."""

    _ros_texts = {"name": "name"}

    def __init__(self, name: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)

    @property
    def name(self) -> list[Substitution]:
        """The name, as substitutions."""
        return self._name

    def describe(self) -> str:
        return f"{type(self).__name__}({describe_substitutions(self._name)})"


class ValueAction(NameAction):
    """Base of actions that give a value to something that has a name."""

    _ros_texts = {"name": "name", "value": "value"}

    def __init__(self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self._value = normalize_to_list_of_substitutions(value)

    @property
    def value(self) -> list[Substitution]:
        """The value, as substitutions."""
        return self._value
