"""The severities of log messages."""

from enum import IntEnum


class LoggingSeverity(IntEnum):
    """From least to most severe."""

    UNSET = 0
    DEBUG = 10
    INFO = 20
    WARN = 30
    ERROR = 40
    FATAL = 50
