"""A launch file of any kind as a source."""

import os

from ..launch_description import LaunchDescription
from ..launch_description_source import LaunchDescriptionSource
from ..some_substitutions_type import SomeSubstitutionsType
from .python_launch_file import get_launch_description_from_python_launch_file


def get_launch_description_from_any_launch_file(launch_file_path: str) -> LaunchDescription:
    """The description in a file.

    Raises FileNotFoundError, and NotImplementedError for a launch file in XML or YAML: those need a full ROS
    2.
    """
    if not os.path.isfile(launch_file_path):
        raise FileNotFoundError(f"launch file '{launch_file_path}' does not exist")
    extension = os.path.splitext(launch_file_path)[1]
    if extension in (".xml", ".yaml", ".yml"):
        raise NotImplementedError(
            f"launch files in {extension[1:].upper()} are not covered by pocket_ros ({launch_file_path}); "
            "write it in Python, or use a full ROS 2, which has them"
        )
    return get_launch_description_from_python_launch_file(launch_file_path)


class AnyLaunchDescriptionSource(LaunchDescriptionSource):
    """Loads a launch file by its extension."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(None, launch_file_path, "any launch file")

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_any_launch_file(location)
