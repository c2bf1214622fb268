"""What the tags of several actions have in common."""

from __future__ import annotations

from typing import Any, List  # noqa: UP035 - entities are asked for typing.List

from .entity import Entity
from .parser import Parser


def texts(entity: Entity, parser: Parser, *names: str, **others: str) -> dict[str, Any]:
    """Required attributes as substitutions, by the name of the attribute or as argument=attribute."""
    wanted = {name: name for name in names} | others
    return {key: parser.parse_substitution(entity.get_attr(name)) for key, name in wanted.items()}


def optional_texts(entity: Entity, parser: Parser, *names: str, **others: str) -> dict[str, Any]:
    """The same for those that are given."""
    wanted = {name: name for name in names} | others
    given = {key: entity.get_attr(name, optional=True) for key, name in wanted.items()}
    return {key: parser.parse_substitution(text) for key, text in given.items() if text is not None}


def optional_values(entity: Entity, data_type: type, *names: str) -> dict[str, Any]:
    """Attributes of a type, no substitutions, as far as they are given."""
    given = {
        name: entity.get_attr(name, data_type=data_type, optional=True, can_be_str=False) for name in names
    }
    return {name: value for name, value in given.items() if value is not None}


def pairs(entity: Entity, parser: Parser, tag: str, first: str, second: str) -> list[tuple[Any, Any]]:
    """Two attributes of each tag of a name inside, as substitutions."""
    found = []
    for child in entity.get_attr(tag, data_type=List[Entity], optional=True) or ():  # noqa: UP006
        found.append(
            (
                tuple(parser.parse_substitution(child.get_attr(first))),
                parser.parse_substitution(child.get_attr(second)),
            )
        )
        child.assert_entity_completely_parsed()
    return found
