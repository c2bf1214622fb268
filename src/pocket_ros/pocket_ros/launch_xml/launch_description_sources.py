"""A launch file in XML as a source."""

from ..launch.launch_description_sources import FrontendLaunchDescriptionSource

__all__ = ["XMLLaunchDescriptionSource"]


class XMLLaunchDescriptionSource(FrontendLaunchDescriptionSource):
    """Loads a launch file in XML."""
