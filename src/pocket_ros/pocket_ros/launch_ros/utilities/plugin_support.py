"""What plugins are checked by, as those of `ros2` are."""

from ...ros2cli.plugin_system import PluginException, get_upper_bound_caret_version, satisfies_version

__all__ = ["PluginException", "get_upper_bound_caret_version", "satisfies_version"]
