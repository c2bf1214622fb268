"""Arguments of a launch file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, List  # noqa: UP035 - entities are asked for typing.List

from ..action import Action, Parsed
from ..frontend.attributes import optional_texts
from ..frontend.entity import Entity
from ..frontend.expose import expose_action
from ..launch_description_entity import DeclaredArguments, LaunchDescriptionEntity
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.substitutions import describe_substitutions

if TYPE_CHECKING:
    from ..frontend.parser import Parser
    from ..launch_context import LaunchContext


@expose_action("arg")
class DeclareLaunchArgument(Action):
    """Declares an argument: it becomes a launch configuration, with its default unless one was given.

    Raises RuntimeError when it has neither a value nor a default, or a value or a default that is not among
    `choices`, ValueError when there are no choices in them.
    """

    def __init__(
        self,
        name: str,
        *,
        default_value: SomeSubstitutionsType | None = None,
        description: str | None = None,
        choices: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._name = name
        self._default = None if default_value is None else normalize_to_list_of_substitutions(default_value)
        self._choices = None if choices is None else list(choices)
        if self._choices == []:
            raise ValueError(f"the choices of launch argument '{name}' must not be empty")
        self._description = self._describe_argument(description)
        fixed = self._fixed_default()
        if self._choices is not None and fixed is not None and fixed not in self._choices:
            raise RuntimeError(
                f"Provided default_value '{fixed}' is not in provided choices {self._choices} of '{name}'"
            )

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `name`, `default`, `description` and each `choice` inside say."""
        arguments = super().parse(entity, parser)[1] | optional_texts(entity, parser, default_value="default")
        arguments["name"] = parser.escape_characters(entity.get_attr("name"))
        description = entity.get_attr("description", optional=True)
        if description is not None:
            arguments["description"] = parser.escape_characters(description)
        choices = entity.get_attr("choice", data_type=List[Entity], optional=True)  # noqa: UP006
        if choices is not None:
            arguments["choices"] = [parser.escape_characters(choice.get_attr("value")) for choice in choices]
            for choice in choices:
                choice.assert_entity_completely_parsed()
        return cls, arguments

    def _describe_argument(self, description: str | None) -> str:
        text = description if description is not None else "no description given"
        if self._choices is None:
            return text
        joined = ", ".join(f"'{choice}'" for choice in self._choices)
        return f"{text.rstrip('. ')}. Valid choices are: [{joined}]"

    def _fixed_default(self) -> str | None:
        from ..substitutions import TextSubstitution

        parts = self._default
        if parts is None or not all(isinstance(part, TextSubstitution) for part in parts):
            return None
        return "".join(part.text for part in parts if isinstance(part, TextSubstitution))

    @property
    def name(self) -> str:
        """The name of the argument and of its launch configuration."""
        return self._name

    @property
    def default_value(self) -> list[Substitution] | None:
        """The default, or None for a required argument."""
        return self._default

    @property
    def description(self) -> str:
        """What the argument means, with its choices."""
        return self._description

    @property
    def choices(self) -> list[str] | None:
        """The allowed values, or None for any."""
        return self._choices

    def describe(self) -> str:
        default = "" if self._default is None else f", default={describe_substitutions(self._default)}"
        return f"DeclareLaunchArgument('{self._name}'{default})"

    def find_declared_arguments(self, chain: list[LaunchDescriptionEntity], found: DeclaredArguments) -> bool:
        found.setdefault(self._name, (self, chain))
        return super().find_declared_arguments(chain, found)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        configurations = context.launch_configurations
        if self._name not in configurations:
            if self._default is None:
                raise RuntimeError(
                    f"Required launch argument '{self._name}' (description: '{self._description}') "
                    "was not provided"
                )
            configurations[self._name] = perform_substitutions(context, self._default)
        value = configurations[self._name]
        if self._choices is not None and value not in self._choices:
            joined = ", ".join(f"'{choice}'" for choice in self._choices)
            raise RuntimeError(
                f"Argument '{self._name}' provided value '{value}' is not valid. "
                f"Valid options are: [{joined}]"
            )
        return None
