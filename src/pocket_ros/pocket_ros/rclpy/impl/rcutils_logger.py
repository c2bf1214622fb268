"""Loggers."""

from __future__ import annotations

import sys
import time
from typing import Any

from . import log_output
from .log_output import LogRecord
from .logging_severity import LoggingSeverity

_FILTERS = ("throttle_duration_sec", "throttle_time_source_type", "skip_first", "once")


class _SystemClock:
    def now(self) -> Any:
        from ..time import Time

        return Time(nanoseconds=time.time_ns())


class RcutilsLogger:
    """A named logger.

    Filters (`once`, `skip_first`, `throttle_duration_sec`) count per place in the source.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._seen: dict[tuple[str, int], dict[str, Any]] = {}

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

    def _log(self, message: Any, severity: int | LoggingSeverity, options: dict[str, Any]) -> bool:
        name = options.pop("name", self.name)
        unknown = options.keys() - set(_FILTERS)
        if unknown:
            raise TypeError(f"unknown logging option(s) {sorted(unknown)}; allowed are {list(_FILTERS)}")
        severity = LoggingSeverity(severity)
        if int(severity) < log_output.effective_level(name):
            return False
        frame = sys._getframe(2)
        code = frame.f_code
        if options and not self._passes((code.co_filename, frame.f_lineno), severity, options):
            return False
        stamp = time.time_ns()
        log_output.emit(
            LogRecord(severity, name, str(message), stamp, code.co_filename, code.co_name, frame.f_lineno)
        )
        return True

    def _passes(self, place: tuple[str, int], severity: LoggingSeverity, options: dict[str, Any]) -> bool:
        state = self._seen.setdefault(place, {"severity": severity, "count": 0, "last": None})
        if state["severity"] != severity:
            raise ValueError("Logger severity cannot be changed between calls.")
        if options.get("once") and state["count"]:
            return False
        if options.get("skip_first") and not state["count"]:
            state["count"] = 1
            return False
        period = options.get("throttle_duration_sec")
        if period is not None:
            source = options.get("throttle_time_source_type") or _SystemClock()
            now = source.now().nanoseconds
            if state["last"] is not None and 0 <= now - state["last"] < float(period) * 1e9:
                return False
            state["last"] = now
        elif "throttle_time_source_type" in options:
            raise TypeError("throttle_time_source_type needs throttle_duration_sec")
        state["count"] += 1
        return True
