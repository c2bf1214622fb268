"""Loggers and their levels."""

from __future__ import annotations

import os
from pathlib import Path

from .impl import log_output
from .impl.logging_severity import LoggingSeverity
from .impl.rcutils_logger import RcutilsLogger

__all__ = [
    "LoggingSeverity",
    "RcutilsLogger",
    "clear_config",
    "get_logger",
    "get_logger_effective_level",
    "get_logger_level",
    "get_logging_directory",
    "get_logging_severity_from_string",
    "initialize",
    "set_logger_level",
    "shutdown",
]

_root_logger = RcutilsLogger()


def get_logger(name: str) -> RcutilsLogger:
    """The logger of a name. Raises ValueError for an empty one."""
    if not name:
        raise ValueError("Logger name must not be empty.")
    return _root_logger.get_child(name)


def initialize() -> None:
    """Nothing to prepare: logging works from the start."""


def shutdown() -> None:
    """Nothing to take down: messages are written as they come."""


def clear_config() -> None:
    """Forget the levels that were set."""
    log_output.clear_levels()


def set_logger_level(name: str, level: int | LoggingSeverity, detailed_error: bool = False) -> None:
    """Set the level of a logger by name."""
    log_output.set_level(name, LoggingSeverity(level))


def get_logger_effective_level(name: str) -> LoggingSeverity:
    """The level that applies to a logger."""
    return LoggingSeverity(log_output.effective_level(name))


def get_logger_level(name: str) -> LoggingSeverity:
    """The level set for the logger itself."""
    return LoggingSeverity(log_output.get_level(name))


def get_logging_severity_from_string(log_severity: str) -> LoggingSeverity:
    """`"info"` as LoggingSeverity.INFO. Raises RuntimeError for other words."""
    try:
        return LoggingSeverity[log_severity.upper()]
    except KeyError:
        allowed = ", ".join(LoggingSeverity.__members__)
        raise RuntimeError(f"'{log_severity}' is no severity; it can be {allowed}") from None


def get_logging_directory() -> Path:
    """Where log files of ROS programs go: `ROS_LOG_DIR`, else `log` in `ROS_HOME` or `~/.ros`."""
    if os.environ.get("ROS_LOG_DIR"):
        return Path(os.environ["ROS_LOG_DIR"]).expanduser()
    return Path(os.environ.get("ROS_HOME") or "~/.ros").expanduser() / "log"
