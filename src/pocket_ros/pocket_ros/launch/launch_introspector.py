"""A launch description as text."""

from collections.abc import Iterable

from ..module_places import not_covered
from .launch_description import LaunchDescription
from .launch_description_entity import LaunchDescriptionEntity


def _lines(entities: Iterable[LaunchDescriptionEntity]) -> Iterable[str]:
    for entity in entities:
        yield entity.describe()
        for line in _lines(entity.describe_sub_entities()):
            yield "    " + line
        for condition, held in entity.describe_conditional_sub_entities():
            yield "    " + condition
            for line in _lines(held):
                yield "        " + line


class LaunchIntrospector:
    """Describes a launch description without running it."""

    def format_launch_description(self, launch_description: LaunchDescription) -> str:
        """One line an entity, what it holds indented below."""
        return "\n".join([f"{launch_description.describe()}", *_lines(launch_description.entities)])


__getattr__ = not_covered("launch.launch_introspector")
