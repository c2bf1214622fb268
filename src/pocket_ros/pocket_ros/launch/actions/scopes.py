"""Several actions with one condition and one scope."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, List  # noqa: UP035 - entities are asked for typing.List

from ..action import Action, Parsed
from ..description import (
    DeclaredArguments,
    LaunchContext,
    LaunchDescription,
    LaunchDescriptionEntity,
    SomeSubstitutionsType,
    Substitution,
)
from ..frontend.parser import Entity, expose_action, optional_texts, optional_values, pairs, texts
from ..launch_description_sources import AnyLaunchDescriptionSource, LaunchDescriptionSource
from ..utilities import (
    describe_substitutions,
    normalize_to_list_of_substitutions,
    perform_bool,
    perform_mapping,
    perform_substitutions,
)
from .basic import NameAction, OpaqueFunction, ValueAction

if TYPE_CHECKING:
    from ..frontend.parser import Parser


# Actions that are one call of the context.


class ContextAction(Action):
    """Calls one method of the launch context."""

    _call: ClassVar[Callable[[LaunchContext], None]]

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        type(self)._call(context)
        return None


# Change the environment of the processes to come.


@expose_action("set_env")
class SetEnvironmentVariable(ValueAction):
    """Sets a variable."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        value = perform_substitutions(context, self._value)
        context.environment[perform_substitutions(context, self._name)] = value
        return None


@expose_action("unset_env")
class UnsetEnvironmentVariable(NameAction):
    """Removes a variable, if it is set."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.environment.pop(perform_substitutions(context, self._name), None)
        return None


@expose_action("append_env")
class AppendEnvironmentVariable(ValueAction):
    """Adds to a variable that is a list, at its end or, with `prepend`, at its front."""

    def __init__(
        self,
        name: SomeSubstitutionsType,
        value: SomeSubstitutionsType,
        prepend: bool | SomeSubstitutionsType = False,
        separator: SomeSubstitutionsType = os.pathsep,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, value, **kwargs)
        self.prepend = prepend if isinstance(prepend, bool) else normalize_to_list_of_substitutions(prepend)
        self.separator = normalize_to_list_of_substitutions(separator)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `name`, `value`, `prepend` and `separator` say."""
        arguments = super().parse(entity, parser)[1]
        prepend = entity.get_attr("prepend", data_type=bool, optional=True)
        if prepend is not None:
            arguments["prepend"] = parser.parse_if_substitutions(prepend)
        return cls, arguments | optional_texts(entity, parser, "separator")

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        name = perform_substitutions(context, self._name)
        value = perform_substitutions(context, self._value)
        prepend = perform_bool(context, self.prepend)
        if name in context.environment:
            parts = [context.environment[name], value]
            value = perform_substitutions(context, self.separator).join(reversed(parts) if prepend else parts)
        context.environment[name] = value
        return None


class PushEnvironment(ContextAction):
    """Remembers the environment."""

    _call = LaunchContext._push_environment


class PopEnvironment(ContextAction):
    """Brings back the environment remembered last."""

    _call = LaunchContext._pop_environment


@expose_action("reset_env")
class ResetEnvironment(ContextAction):
    """Brings back the environment the launch began with."""

    _call = LaunchContext._reset_environment


class ReplaceEnvironmentVariables(Action):
    """Removes all variables but those given."""

    def __init__(
        self, environment: Mapping[SomeSubstitutionsType, SomeSubstitutionsType] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._environment = dict(environment or {})

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        content = perform_mapping(context, self._environment)
        context.environment.clear()
        context.environment.update(content)
        return None


# Set launch configurations, and keep them within a scope.


@expose_action("let")
class SetLaunchConfiguration(ValueAction):
    """Sets a launch configuration."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        name = perform_substitutions(context, self._name)
        context.launch_configurations[name] = perform_substitutions(context, self._value)
        return None


@expose_action("unset_let")
class UnsetLaunchConfiguration(NameAction):
    """Removes a launch configuration, if it is set."""

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        context.launch_configurations.pop(perform_substitutions(context, self._name), None)
        return None


class PushLaunchConfigurations(ContextAction):
    """Remembers the launch configurations."""

    _call = LaunchContext._push_launch_configurations


class PopLaunchConfigurations(ContextAction):
    """Brings back the launch configurations remembered last."""

    _call = LaunchContext._pop_launch_configurations


@expose_action("reset")
class ResetLaunchConfigurations(Action):
    """Removes all launch configurations but those given."""

    def __init__(
        self,
        launch_configurations: Mapping[SomeSubstitutionsType, SomeSubstitutionsType] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kept = dict(launch_configurations or {})

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What each `keep` inside says."""
        kept = dict(pairs(entity, parser, "keep", "name", "value"))
        return cls, super().parse(entity, parser)[1] | {"launch_configurations": kept}

    def find_declared_arguments(self, chain: list[LaunchDescriptionEntity], found: DeclaredArguments) -> bool:
        return False  # what the caller gives does not get past this

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        kept = perform_mapping(context, self._kept)
        context.launch_configurations.clear()
        context.launch_configurations.update(kept)
        return None


@expose_action("group")
class GroupAction(Action):
    """Visits its actions. What they change in configurations and environment stays inside, unless `scoped`
    is False.

    `forwarding=False` begins the scope with nothing but `launch_configurations`, which are set inside it
    either way.
    """

    def __init__(
        self,
        actions: Iterable[LaunchDescriptionEntity],
        *,
        scoped: bool = True,
        forwarding: bool = True,
        launch_configurations: Mapping[SomeSubstitutionsType, SomeSubstitutionsType] | None = None,
        **left_over_kwargs: Any,
    ) -> None:
        super().__init__(**left_over_kwargs)
        self._actions = list(actions)
        self._scoped = scoped
        self._forwarding = forwarding
        self._launch_configurations = dict(launch_configurations or {})

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `scoped`, `forwarding`, each `keep` and the other tags inside say."""
        arguments = super().parse(entity, parser)[1]
        arguments |= optional_values(entity, bool, "scoped", "forwarding")
        arguments["launch_configurations"] = dict(pairs(entity, parser, "keep", "name", "value"))
        inside = [child for child in entity.children if child.type_name != "keep"]
        return cls, arguments | {"actions": [parser.parse_action(child) for child in inside]}

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        settings: list[LaunchDescriptionEntity] = [
            SetLaunchConfiguration(name, value) for name, value in self._launch_configurations.items()
        ]
        inside = [*settings, *self._actions]
        if not self._scoped:
            return inside
        if not self._forwarding:
            inside = [
                ResetEnvironment(),
                ResetLaunchConfigurations(self._launch_configurations),
                *self._actions,
            ]
        return [
            PushLaunchConfigurations(),
            PushEnvironment(),
            *inside,
            PopEnvironment(),
            PopLaunchConfigurations(),
        ]

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        return self.get_sub_entities()


# Another launch file in place.


LaunchArguments = Iterable[tuple[SomeSubstitutionsType, SomeSubstitutionsType]]


@expose_action("include")
class IncludeLaunchDescription(Action):
    """Visits another description, with `launch_arguments` set as launch configurations before.

    They stay set afterwards; put the action into a GroupAction to keep them inside. Raises RuntimeError when
    an argument that the included description requires is given neither here nor before.
    """

    def __init__(
        self,
        launch_description_source: LaunchDescriptionSource | SomeSubstitutionsType,
        *,
        launch_arguments: LaunchArguments | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(launch_description_source, LaunchDescriptionSource):
            launch_description_source = AnyLaunchDescriptionSource(launch_description_source)
        self._source = launch_description_source
        self._arguments = [
            (normalize_to_list_of_substitutions(name), normalize_to_list_of_substitutions(value))
            for name, value in (launch_arguments or ())
        ]

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `file` and each `arg` or `let` inside say."""
        arguments = super().parse(entity, parser)[1]
        arguments |= texts(entity, parser, launch_description_source="file")
        given = [pair for tag in ("arg", "let") for pair in pairs(entity, parser, tag, "name", "value")]
        return cls, arguments | {"launch_arguments": given}

    @property
    def launch_description_source(self) -> LaunchDescriptionSource:
        """Where the description comes from."""
        return self._source

    @property
    def launch_arguments(self) -> list[tuple[list[Substitution], list[Substitution]]]:
        """Names and values, as substitutions."""
        return self._arguments

    def describe(self) -> str:
        return f"IncludeLaunchDescription({self._source.location})"

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        description = self._source.try_get_launch_description_without_context()
        return [] if description is None else [description]

    def find_declared_arguments(self, chain: list[LaunchDescriptionEntity], found: DeclaredArguments) -> bool:
        return super().find_declared_arguments([*chain, self], found)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        description = self._source.get_launch_description(context)
        before = {
            name: context.get_locals_as_dict().get(name)
            for name in ("current_launch_file_path", "current_launch_file_directory")
        }
        path = self._source.location
        context.extend_locals(
            {"current_launch_file_path": path, "current_launch_file_directory": os.path.dirname(path)}
        )
        self._check_required(context, description)
        settings = [SetLaunchConfiguration(name, value) for name, value in self._arguments]

        def restore(context: LaunchContext) -> None:
            context.extend_locals(before)

        return [*settings, description, OpaqueFunction(function=restore)]

    def _check_required(self, context: LaunchContext, description: LaunchDescription) -> None:
        given = [perform_substitutions(context, name) for name, _ in self._arguments]
        for argument, chain in description.get_launch_arguments_with_include_launch_description_actions():
            if argument.default_value is not None or chain or argument.condition is not None:
                continue
            if argument.name not in given and argument.name not in context.launch_configurations:
                raise RuntimeError(
                    f"Included launch description missing required argument '{argument.name}' "
                    f"(description: '{argument.description}'), given: [{', '.join(given)}]"
                )


# Arguments of a launch file.


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
        self.choices = None if choices is None else list(choices)
        if self.choices == []:
            raise ValueError(f"the choices of launch argument '{name}' must not be empty")
        self.description = self._describe_argument(description)
        fixed = self._fixed_default()
        if self.choices is not None and fixed is not None and fixed not in self.choices:
            raise RuntimeError(
                f"Provided default_value '{fixed}' is not in provided choices {self.choices} of '{name}'"
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
        if self.choices is None:
            return text
        joined = ", ".join(f"'{choice}'" for choice in self.choices)
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
                    f"Required launch argument '{self._name}' (description: '{self.description}') "
                    "was not provided"
                )
            configurations[self._name] = perform_substitutions(context, self._default)
        value = configurations[self._name]
        if self.choices is not None and value not in self.choices:
            joined = ", ".join(f"'{choice}'" for choice in self.choices)
            raise RuntimeError(
                f"Argument '{self._name}' provided value '{value}' is not valid. "
                f"Valid options are: [{joined}]"
            )
        return None
