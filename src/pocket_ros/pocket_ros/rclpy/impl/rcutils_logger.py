"""Loggers."""

from __future__ import annotations

import sys
import time
from types import CodeType
from typing import Any

from ...module_places import not_covered
from . import log_output
from .log_output import LogRecord
from .logging_severity import LoggingSeverity

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
        log_output.set_level(self.name, LoggingSeverity(level))

    def get_effective_level(self) -> LoggingSeverity:
        """The level that applies, possibly a parent's."""
        return LoggingSeverity(log_output.effective_level(self.name))

    def is_enabled_for(self, severity: int | LoggingSeverity) -> bool:
        """Whether a message of this severity would be written."""
        return int(severity) >= log_output.effective_level(self.name)

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
        if int(severity) < log_output.effective_level(name):
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
        log_output.emit(
            LogRecord(severity, name, str(message), stamp, code.co_filename, code.co_name, frame.f_lineno)
        )
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


__getattr__ = not_covered("rclpy.impl.rcutils_logger")
