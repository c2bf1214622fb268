"""A Python launch file as a source."""

from ..launch_description import LaunchDescription
from ..launch_description_source import LaunchDescriptionSource
from ..some_substitutions_type import SomeSubstitutionsType
from .python_launch_file import get_launch_description_from_python_launch_file


class PythonLaunchDescriptionSource(LaunchDescriptionSource):
    """Loads `generate_launch_description()` of a file."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(None, launch_file_path, "interpreted python launch file")

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_python_launch_file(location)
