"""A launch file in YAML as a source."""

from ...launch.frontend.yaml_file import Parser
from ...launch.launch_description_sources import FrontendLaunchDescriptionSource
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...module_places import offer_modules

__all__ = ["YAMLLaunchDescriptionSource"]


class YAMLLaunchDescriptionSource(FrontendLaunchDescriptionSource):
    """Loads a launch file in YAML."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(launch_file_path, method="interpreted YAML launch file", parser=Parser)


_NAME = "YAMLLaunchDescriptionSource"
offer_modules(__name__, {"yaml_launch_description_source": {_NAME: YAMLLaunchDescriptionSource}})
