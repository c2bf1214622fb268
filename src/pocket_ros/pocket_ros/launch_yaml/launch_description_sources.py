"""A launch file in YAML as a source."""

from ..launch.launch_description_sources import FrontendLaunchDescriptionSource

__all__ = ["YAMLLaunchDescriptionSource"]


class YAMLLaunchDescriptionSource(FrontendLaunchDescriptionSource):
    """Loads a launch file in YAML."""
