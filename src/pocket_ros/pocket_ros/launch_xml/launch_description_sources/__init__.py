"""A launch file in XML as a source."""

from ...launch.frontend.xml_file import Parser
from ...launch.launch_description_sources import FrontendLaunchDescriptionSource
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...module_places import offer_modules

__all__ = ["XMLLaunchDescriptionSource"]


class XMLLaunchDescriptionSource(FrontendLaunchDescriptionSource):
    """Loads a launch file in XML."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(launch_file_path, method="interpreted XML launch file", parser=Parser)


_NAME = "XMLLaunchDescriptionSource"
offer_modules(__name__, {"xml_launch_description_source": {_NAME: XMLLaunchDescriptionSource}})
