"""Parameters, and nodes that are loaded into another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List  # noqa: UP035 - entities are asked for typing.List

from ...launch.action import Action
from ...launch.description import Condition, SomeSubstitutionsType, Substitution
from ...launch.frontend.parser import Entity, optional_texts, pairs, texts
from ...launch.utilities import normalize_to_list_of_substitutions
from ...places import offer_places
from ..parameter_descriptions import Parameter, ParameterFile, ParameterValue, normalize_parameters
from ..utilities import normalize_remap_rule

if TYPE_CHECKING:
    from ...launch.frontend.parser import Parser
    from ..parameter_descriptions import SomeParameters
    from ..utilities import SomeRemapRules


# A node that is loaded into a running process.


class ComposableNode:
    """A class of a package that a container makes a node of, with name, namespace, parameters and remappings.

    `extra_arguments` are parameters for the container, such as `use_intra_process_comms`.
    """

    def __init__(
        self,
        *,
        package: SomeSubstitutionsType,
        plugin: SomeSubstitutionsType,
        name: SomeSubstitutionsType | None = None,
        namespace: SomeSubstitutionsType | None = None,
        parameters: SomeParameters | None = None,
        remappings: SomeRemapRules | None = None,
        extra_arguments: SomeParameters | None = None,
        condition: Condition | None = None,
    ) -> None:
        self.package = normalize_to_list_of_substitutions(package)
        self._plugin = normalize_to_list_of_substitutions(plugin)
        self._name = None if name is None else normalize_to_list_of_substitutions(name)
        self._namespace = None if namespace is None else normalize_to_list_of_substitutions(namespace)
        self.parameters = None if parameters is None else normalize_parameters(parameters)
        self.remappings = [normalize_remap_rule(rule) for rule in remappings] if remappings else None
        self.extra_arguments = normalize_parameters(extra_arguments) if extra_arguments else None
        self._condition = condition

    @classmethod
    def parse(cls, parser: Parser, entity: Entity) -> tuple[type[ComposableNode], dict[str, Any]]:
        """What a `composable_node` tag says."""
        arguments = Action.parse(entity, parser)[1]
        arguments |= texts(entity, parser, "plugin", "name", package="pkg")
        arguments |= optional_texts(entity, parser, "namespace")
        params = entity.get_attr("param", data_type=List[Entity], optional=True)  # noqa: UP006
        if params is not None:
            from ..parameter_descriptions import parse_parameters

            arguments["parameters"] = parse_parameters(params, parser)
        arguments["remappings"] = pairs(entity, parser, "remap", "from", "to")
        extra = pairs(entity, parser, "extra_arg", "name", "value")
        arguments["extra_arguments"] = [{name: value} for name, value in extra]
        entity.assert_entity_completely_parsed()
        return cls, arguments

    @property
    def node_plugin(self) -> list[Substitution]:
        """The class, as substitutions."""
        return self._plugin

    @property
    def node_name(self) -> list[Substitution] | None:
        """The name, as substitutions; None where the class chooses it."""
        return self._name

    @property
    def node_namespace(self) -> list[Substitution] | None:
        """The namespace, as substitutions, or None."""
        return self._namespace

    def condition(self) -> Condition | None:
        """What must be true for the node to be loaded, or None."""
        return self._condition


def parse_composable_nodes(entity: Entity, parser: Parser, optional: bool) -> list[ComposableNode] | None:
    """What the `composable_node` tags inside a tag stand for, None where there are none."""
    tags = entity.get_attr("composable_node", data_type=List[Entity], optional=optional)  # noqa: UP006
    if tags is None:
        return None
    parsed = [ComposableNode.parse(parser, tag) for tag in tags]
    return [made_of(**arguments) for made_of, arguments in parsed]


__all__ = ["ComposableNode", "Parameter", "ParameterFile", "ParameterValue"]

offer_places(__name__)
