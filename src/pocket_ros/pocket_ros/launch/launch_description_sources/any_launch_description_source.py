"""A launch file of any kind as a source."""

from __future__ import annotations

import os
from xml.etree import ElementTree

import yaml

from ..frontend.parser import InvalidFrontendLaunchFileError, Parser
from ..launch_description import LaunchDescription
from ..launch_description_source import LaunchDescriptionSource
from ..some_substitutions_type import SomeSubstitutionsType
from .python_launch_file import get_launch_description_from_python_launch_file

_MISTAKES = (AttributeError, RuntimeError, TypeError, ValueError, ElementTree.ParseError, yaml.YAMLError)


def get_launch_description_from_frontend_launch_file(
    launch_file_path: str, *, parser: type[Parser] = Parser
) -> LaunchDescription:
    """The description in a file of one of the languages that `launch.frontend` reads.

    Raises FileNotFoundError, and InvalidFrontendLaunchFileError naming the file and what is wrong in it.
    """
    if not os.path.isfile(launch_file_path):
        raise FileNotFoundError(f"launch file '{launch_file_path}' does not exist")
    try:
        root, reader = parser.load(launch_file_path)
        return reader.parse_description(root)
    except NotImplementedError:
        raise
    except InvalidFrontendLaunchFileError as error:
        raise InvalidFrontendLaunchFileError(launch_file_path, likely_errors=error.likely_errors) from error
    except _MISTAKES as error:
        raise InvalidFrontendLaunchFileError(launch_file_path, likely_errors=[error]) from error


def get_launch_description_from_any_launch_file(
    launch_file_path: str, *, parser: type[Parser] = Parser
) -> LaunchDescription:
    """The description in a file, which is Python unless a language of `launch.frontend` has its ending.

    Raises FileNotFoundError, InvalidLaunchFileError and InvalidPythonLaunchFileError.
    """
    if not os.path.isfile(launch_file_path):
        raise FileNotFoundError(f"launch file '{launch_file_path}' does not exist")
    if parser.is_filename_valid(launch_file_path):
        return get_launch_description_from_frontend_launch_file(launch_file_path, parser=parser)
    return get_launch_description_from_python_launch_file(launch_file_path)


class AnyLaunchDescriptionSource(LaunchDescriptionSource):
    """Loads a launch file by its extension."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(None, launch_file_path, "any launch file")

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_any_launch_file(location)


class FrontendLaunchDescriptionSource(LaunchDescriptionSource):
    """Loads a launch file in a language of `launch.frontend`: by its extension, or in that of `parser`."""

    def __init__(
        self,
        launch_file_path: SomeSubstitutionsType,
        *,
        method: str = "interpreted frontend launch file",
        parser: type[Parser] = Parser,
    ) -> None:
        super().__init__(None, launch_file_path, method)
        self._parser = parser

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_frontend_launch_file(location, parser=self._parser)
