"""Where log messages go: the console, and whoever registered for `/rosout`."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock

from .logging_severity import LoggingSeverity

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
