"""The handlers of Python's `logging` and `logging.handlers`, in one place."""

from logging import FileHandler, Handler, NullHandler, StreamHandler
from logging.handlers import (
    MemoryHandler,
    QueueHandler,
    RotatingFileHandler,
    SocketHandler,
    SysLogHandler,
    TimedRotatingFileHandler,
    WatchedFileHandler,
)

from ...module_places import not_covered

__all__ = [
    "FileHandler",
    "Handler",
    "MemoryHandler",
    "NullHandler",
    "QueueHandler",
    "RotatingFileHandler",
    "SocketHandler",
    "StreamHandler",
    "SysLogHandler",
    "TimedRotatingFileHandler",
    "WatchedFileHandler",
]

__getattr__ = not_covered("launch.logging.handlers")
