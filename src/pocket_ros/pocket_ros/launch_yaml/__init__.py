"""Launch files in YAML, as `launch.frontend` reads them."""

from . import launch_description_sources

__all__ = ["launch_description_sources"]
