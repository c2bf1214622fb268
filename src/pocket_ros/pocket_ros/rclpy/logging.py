"""Loggers and their levels."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from threading import RLock
from types import CodeType
from typing import Any

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


# The severities of log messages.


class LoggingSeverity(IntEnum):
    """From least to most severe."""

    UNSET = 0
    DEBUG = 10
    INFO = 20
    WARN = 30
    ERROR = 40
    FATAL = 50


# Where log messages go: the console, and whoever registered for `/rosout`.


_DEFAULT_FORMAT = "[{severity}] [{time}] [{name}]: {message}"
_COLOURS = {
    LoggingSeverity.DEBUG: "\033[32m",
    LoggingSeverity.INFO: "\033[0m",
    LoggingSeverity.WARN: "\033[33m",
    LoggingSeverity.ERROR: "\033[31m",
    LoggingSeverity.FATAL: "\033[31m",
}
_TOKEN = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class LogRecord:
    """One log message; `stamp` is in nanoseconds of system time."""

    severity: LoggingSeverity
    name: str
    message: str
    stamp: int
    file_name: str
    function_name: str
    line_number: int


_lock = RLock()
_levels: dict[str, int] = {}
_default_level = int(LoggingSeverity.INFO)
_console = True
_sinks: dict[str, Callable[[LogRecord], None]] = {}


def set_level(name: str, level: int) -> None:
    """The level of a logger; the empty name is the default of all."""
    global _default_level
    with _lock:
        if name:
            _levels[name] = int(level)
        else:
            _default_level = int(level)


def get_level(name: str) -> int:
    """The level set for a logger itself, 0 where none is."""
    return _levels.get(name, 0) if name else _default_level


def effective_level(name: str) -> int:
    """The level of a logger: its own, or that of the nearest parent that has one."""
    while name:
        level = _levels.get(name)
        if level:
            return level
        name = name.rpartition(".")[0]
    return _default_level


def clear_levels() -> None:
    """Forget every level that was set."""
    global _default_level
    with _lock:
        _levels.clear()
        _default_level = int(LoggingSeverity.INFO)


def use_console(wanted: bool) -> None:
    """Whether records are written to the console; the sinks get them in any case."""
    global _console
    _console = wanted


def add_sink(name: str, sink: Callable[[LogRecord], None]) -> None:
    """Hand messages of this logger and its children to `sink` as well."""
    with _lock:
        _sinks[name] = sink


def remove_sink(name: str, sink: Callable[[LogRecord], None]) -> None:
    """Stop, if `sink` is the one registered."""
    with _lock:
        if _sinks.get(name) == sink:
            del _sinks[name]


def emit(record: LogRecord) -> None:
    """Write a record to the console and to the sinks of its logger and of its parents."""
    if _console:
        _write(record)
    name = record.name
    while name and _sinks:
        sink = _sinks.get(name)
        if sink is not None:
            sink(record)
            return
        name = name.rpartition(".")[0]


def _write(record: LogRecord) -> None:
    stream = sys.stdout if os.environ.get("RCUTILS_LOGGING_USE_STDOUT") == "1" else sys.stderr
    text = render(record)
    if _coloured(stream):
        text = f"{_COLOURS[record.severity]}{text}\033[0m"
    try:
        stream.write(text + "\n")
        stream.flush()
    except (OSError, ValueError):
        pass  # a closed console is no reason to stop a robot


def render(record: LogRecord) -> str:
    """The line for the console, in the form `RCUTILS_CONSOLE_OUTPUT_FORMAT` asks for."""
    seconds, nanoseconds = divmod(record.stamp, 10**9)
    values = {
        "severity": record.severity.name,
        "name": record.name,
        "message": record.message,
        "function_name": record.function_name,
        "file_name": record.file_name,
        "line_number": str(record.line_number),
        "time": f"{seconds}.{nanoseconds:09d}",
        "time_as_nanoseconds": str(record.stamp),
        "date_time_with_ms": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
        + f".{nanoseconds // 10**6:03d}",
    }
    form = os.environ.get("RCUTILS_CONSOLE_OUTPUT_FORMAT") or _DEFAULT_FORMAT
    return _TOKEN.sub(lambda m: values.get(m[1], m[0]), form)


def _coloured(stream: object) -> bool:
    wanted = os.environ.get("RCUTILS_COLORIZED_OUTPUT", "")
    if wanted in ("0", "1"):
        return wanted == "1"
    return bool(getattr(stream, "isatty", lambda: False)())


# Loggers.


_FILTERS = ("throttle_duration_sec", "throttle_time_source_type", "skip_first", "once")


class RcutilsLogger:
    """A named logger.

    Filters count per call in the source, and a message has to pass all that the call names, in this order:
    `throttle_duration_sec`, `skip_first`, `once`. A filter that is given as False, 0 or None is left out.
    Throttling counts from time 0 of its clock, so a simulated clock has to reach the duration first; a clock
    set back starts it anew. A call keeps its severity, logger name and filters: ValueError is raised where it
    changes them, and for a time source that is no clock.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._calls: dict[tuple[CodeType, int], _Call] = {}

    def get_child(self, name: str) -> RcutilsLogger:
        """A logger `<this>.<name>`. Raises ValueError for an empty name."""
        if not name:
            raise ValueError("Child logger name must not be empty.")
        return RcutilsLogger(f"{self.name}.{name}" if self.name else name)

    def set_level(self, level: int | LoggingSeverity) -> None:
        """Messages below this level are dropped."""
        set_level(self.name, LoggingSeverity(level))

    def get_effective_level(self) -> LoggingSeverity:
        """The level that applies, possibly a parent's."""
        return LoggingSeverity(effective_level(self.name))

    def is_enabled_for(self, severity: int | LoggingSeverity) -> bool:
        """Whether a message of this severity would be written."""
        return int(severity) >= effective_level(self.name)

    def log(self, message: str, severity: int | LoggingSeverity, **kwargs: Any) -> bool:
        """Write a message; whether it was written. Raises TypeError for an unknown option."""
        return self._log(message, severity, kwargs)

    def debug(self, message: str, **kwargs: Any) -> bool:
        return self._log(message, LoggingSeverity.DEBUG, kwargs)

    def info(self, message: str, **kwargs: Any) -> bool:
        return self._log(message, LoggingSeverity.INFO, kwargs)

    def warning(self, message: str, **kwargs: Any) -> bool:
        return self._log(message, LoggingSeverity.WARN, kwargs)

    def warn(self, message: str, **kwargs: Any) -> bool:
        return self._log(message, LoggingSeverity.WARN, kwargs)

    def error(self, message: str, **kwargs: Any) -> bool:
        return self._log(message, LoggingSeverity.ERROR, kwargs)

    def fatal(self, message: str, **kwargs: Any) -> bool:
        return self._log(message, LoggingSeverity.FATAL, kwargs)

    def _log(self, message: object, severity: int | LoggingSeverity, options: dict[str, Any]) -> bool:
        if "severity" in options:
            raise TypeError("got multiple values for argument 'severity': use log() to choose it")
        name = options.pop("name", None)
        if name is None:
            name = self.name
        if options:
            options = _chosen_filters(options)
        severity = LoggingSeverity(severity)
        if int(severity) < effective_level(name):
            return False
        frame = sys._getframe(2)
        code = frame.f_code
        call = self._calls.get((code, frame.f_lasti))
        if call is None:
            call = self._calls[code, frame.f_lasti] = _Call(severity, name, options)
        else:
            call.check(severity, name, options)
        if options and not call.passes():
            return False
        stamp = time.time_ns()
        emit(LogRecord(severity, name, str(message), stamp, code.co_filename, code.co_name, frame.f_lineno))
        return True


def _chosen_filters(options: dict[str, Any]) -> dict[str, Any]:
    """The options that filter. Raises TypeError for an unknown one, ValueError for a source without time."""
    unknown = sorted(options.keys() - set(_FILTERS))
    if unknown:
        raise TypeError(
            f"parameter {unknown[0]!r} is not one of the recognized logging options {list(_FILTERS)}"
        )
    chosen = {name: value for name, value in options.items() if value}
    source = chosen.get("throttle_time_source_type")
    if source is not None:
        if options.get("throttle_duration_sec") is None:
            raise TypeError(
                "required parameter 'throttle_duration_sec' not specified: throttle_time_source_type needs it"
            )
        if not callable(getattr(source, "now", None)):
            raise ValueError(f"Received throttle_time_source_type of {source!r} is not a clock instance")
    return chosen


class _Call:
    """One call in the source: what it was first made with, and what its filters have counted."""

    def __init__(self, severity: LoggingSeverity, name: str, options: dict[str, Any]) -> None:
        self._severity = severity
        self._name = name
        self._options = options
        self._last = 0
        self._skipped = False
        self._logged = False

    def check(self, severity: LoggingSeverity, name: str, options: dict[str, Any]) -> None:
        """Raises ValueError where the call has changed: its filters would count one thing for another."""
        for what, now, before in (
            ("Logger severity", severity, self._severity),
            ("Logger name", name, self._name),
            ("Requested logging filters", options.keys(), self._options.keys()),
            ("Logging filter parameters", options, self._options),
        ):
            if now != before:
                raise ValueError(f"{what} cannot be changed between calls.")

    def passes(self) -> bool:
        """Whether every filter lets the message through; those behind one that does not do not count it."""
        options = self._options
        if "throttle_duration_sec" in options and not self._is_due(float(options["throttle_duration_sec"])):
            return False
        if "skip_first" in options and not self._skipped:
            self._skipped = True
            return False
        if "once" in options and self._logged:
            return False
        self._logged = True
        return True

    def _is_due(self, period: float) -> bool:
        source = self._options.get("throttle_time_source_type")
        now: int = time.time_ns() if source is None else source.now().nanoseconds
        if self._last <= now < self._last + period * 1e9:
            return False
        self._last = now
        return True


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
    clear_levels()


def set_logger_level(name: str, level: int | LoggingSeverity, detailed_error: bool = False) -> None:
    """Set the level of a logger by name."""
    set_level(name, LoggingSeverity(level))


def get_logger_effective_level(name: str) -> LoggingSeverity:
    """The level that applies to a logger."""
    return LoggingSeverity(effective_level(name))


def get_logger_level(name: str) -> LoggingSeverity:
    """The level set for the logger itself."""
    return LoggingSeverity(get_level(name))


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
