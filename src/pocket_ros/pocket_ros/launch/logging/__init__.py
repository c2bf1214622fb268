"""Log lines of the launch and output of its processes, to the screen and to files."""

from . import handlers
from .config import LaunchConfig, get_logging_directory, launch_config
from .loggers import get_logger, get_output_loggers, handlers_of, reset

__all__ = [
    "LaunchConfig",
    "get_logger",
    "get_logging_directory",
    "get_output_loggers",
    "handlers",
    "handlers_of",
    "launch_config",
    "reset",
]
