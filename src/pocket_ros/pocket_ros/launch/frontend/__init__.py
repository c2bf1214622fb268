"""Launch files in XML and YAML.

`entity` is what both are read into, `parser` makes actions of it, by what `expose` knows of each tag.
"""

from ...places import offer_places
from . import parser as type_utils
from . import xml_file, yaml_file
from .parser import (
    Entity,
    InvalidFrontendLaunchFileError,
    Parser,
    expose_action,
    expose_substitution,
    offer_extension,
    offer_parser,
    parse_if_substitutions,
    parse_substitution,
)

__all__ = [
    "Entity",
    "InvalidFrontendLaunchFileError",
    "Parser",
    "expose_action",
    "expose_substitution",
    "parse_if_substitutions",
    "parse_substitution",
    "type_utils",
]


def _load_launch_ros() -> None:
    """Its actions expose tags of their own; it is above `launch`, and files in Python may do without."""
    from ... import launch_ros  # noqa: F401


offer_parser("xml", xml_file.Parser)
offer_parser("yaml", yaml_file.Parser)
offer_extension(_load_launch_ros)

offer_places(__name__)
