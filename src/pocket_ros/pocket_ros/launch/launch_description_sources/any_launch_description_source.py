"""A launch file of any kind as a source."""

import os

from ..launch_description import LaunchDescription
from ..launch_description_source import LaunchDescriptionSource
from ..some_substitutions_type import SomeSubstitutionsType
from .file_kinds import loader_of
from .python_launch_file import get_launch_description_from_python_launch_file


def get_launch_description_from_any_launch_file(launch_file_path: str) -> LaunchDescription:
    """The description in a file, which is XML, YAML or Python by its extension.

    Raises FileNotFoundError, InvalidLaunchFileError and InvalidPythonLaunchFileError.
    """
    if not os.path.isfile(launch_file_path):
        raise FileNotFoundError(f"launch file '{launch_file_path}' does not exist")
    load = loader_of(launch_file_path) or get_launch_description_from_python_launch_file
    return load(launch_file_path)


class AnyLaunchDescriptionSource(LaunchDescriptionSource):
    """Loads a launch file by its extension."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(None, launch_file_path, "any launch file")

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_any_launch_file(location)


class FrontendLaunchDescriptionSource(AnyLaunchDescriptionSource):
    """Loads a launch file in XML or YAML by its extension."""
