"""From a file to a launch description."""

from __future__ import annotations

from xml.etree import ElementTree

import yaml

from ..invalid_launch_file_error import InvalidLaunchFileError
from ..launch_description import LaunchDescription
from ..launch_description_sources.file_kinds import offer_loader
from .entity import Entity, InvalidLaunchEntityError
from .tags import to_actions


def load_launch_file(path: str) -> LaunchDescription:
    """The description in an XML or YAML launch file, told apart by the extension.

    Raises FileNotFoundError, and InvalidLaunchFileError naming the file and what is wrong in it.
    """
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    try:
        root = _from_xml(text) if path.endswith(".xml") else _from_yaml(text)
        if root.tag != "launch":
            raise InvalidLaunchEntityError(f"a launch file begins with 'launch', not with '{root.tag}'")
        deprecated = root.optional("deprecated")
        root.optional("version")  # of the format; there is one
        root.finish()
        reason = None if deprecated is None else deprecated.text
        return LaunchDescription(to_actions(root.children), deprecated_reason=reason)
    except (ElementTree.ParseError, yaml.YAMLError, InvalidLaunchEntityError) as error:
        raise InvalidLaunchFileError(path, likely_errors=[error]) from error


def _from_xml(text: str) -> Entity:
    return Entity.from_xml(ElementTree.fromstring(text))


def _from_yaml(text: str) -> Entity:
    data = yaml.safe_load(text)
    if not isinstance(data, dict) or len(data) != 1:
        raise InvalidLaunchEntityError("a launch file in YAML is one key, 'launch', with a list of tags")
    ((tag, content),) = data.items()
    return Entity.from_yaml(str(tag), [_as_tag(item) for item in content or []])


def _as_tag(item: object) -> object:
    """A tag without attributes is written `tag:`, which YAML reads as nothing."""
    if isinstance(item, dict):
        return {key: {} if value is None else value for key, value in item.items()}
    return item


offer_loader((".xml", ".yaml", ".yml"), load_launch_file)
