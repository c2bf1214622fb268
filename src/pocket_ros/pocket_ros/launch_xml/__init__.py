"""Launch files in XML, as `launch.frontend` reads them."""

from __future__ import annotations

from ..launch.description import SomeSubstitutionsType
from ..launch.frontend.xml_file import Entity, Parser
from ..launch.launch_description_sources import FrontendLaunchDescriptionSource
from ..places import offer_class_modules


class XMLLaunchDescriptionSource(FrontendLaunchDescriptionSource):
    """Loads a launch file in XML."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(launch_file_path, method="interpreted XML launch file", parser=Parser)


__all__ = ["Entity", "Parser", "launch_description_sources"]

offer_class_modules(__name__, parser=[Parser, Entity])
