"""Log lines of the launch and output of its processes, to the screen and to files."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import datetime
from logging import FileHandler as FileHandler
from logging import Handler as Handler
from logging import NullHandler as NullHandler
from logging.handlers import MemoryHandler as MemoryHandler
from logging.handlers import QueueHandler as QueueHandler
from logging.handlers import RotatingFileHandler as RotatingFileHandler
from logging.handlers import SocketHandler as SocketHandler
from logging.handlers import SysLogHandler as SysLogHandler
from logging.handlers import TimedRotatingFileHandler as TimedRotatingFileHandler
from logging.handlers import WatchedFileHandler as WatchedFileHandler
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, TextIO

from ...places import offer_places

# Where log lines go and how they look.


if TYPE_CHECKING:
    StreamHandler = logging.StreamHandler[TextIO]
else:
    StreamHandler = logging.StreamHandler  # takes no type arguments before Python 3.11

ROOT = "launch.logging"
"""The name of the logger above all those of a launch."""
_SCREEN_FORMATS = {
    "default": "[{levelname}] [{name}]: {msg}",
    "default_with_timestamp": "{created:.7f} [{levelname}] [{name}]: {msg}",
}
_LOG_FORMATS = {"default": "{created:.7f} [{levelname}] [{name}]: {msg}"}


def get_logging_directory() -> Path:
    """The folder above all launches' logs: `ROS_LOG_DIR`, else `ROS_HOME/log`, else `~/.ros/log`."""
    if os.environ.get("ROS_LOG_DIR"):
        return Path(os.environ["ROS_LOG_DIR"]).expanduser()
    return Path(os.environ.get("ROS_HOME") or "~/.ros").expanduser() / "log"


class _Formatter(logging.Formatter):
    """Lines of the launch in a format; output of processes as it came, with a time where the format
    has one.
    """

    def __init__(self, line_format: str, style: str = "{") -> None:
        super().__init__()
        self.line_format = line_format
        self.style = style

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if getattr(record, "is_output", False):
            return f"{record.created:.7f} {message}" if "{created" in self.line_format else message
        name = record.name.removeprefix("launch.logging.")
        values = {**record.__dict__, "name": name, "msg": message, "message": message}
        if self.style == "%":
            return self.line_format % values
        if self.style == "$":
            return Template(self.line_format).substitute(values)
        return self.line_format.format(**values)


def _formatter(presets: Mapping[str, str], line_format: str, style: str | None) -> _Formatter:
    if style not in (None, "{", "%", "$"):
        raise ValueError(f"'{style}' is no style of formats; choose one of {{ % $")
    if style is not None and line_format in presets:
        raise ValueError(f"'{line_format}' is the name of a format, which has a style already")
    return _Formatter(presets.get(line_format, line_format), style or "{")


def _file_handler(path: str, encoding: str | None = None) -> logging.Handler:
    return logging.FileHandler(path, encoding=encoding, delay=True)


class _ScreenHandler(StreamHandler):
    """Writes to whatever `sys.stdout` is now, so that a redirection counts."""

    def __init__(self) -> None:
        super().__init__(sys.stdout)

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stdout
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """A reader that went away (`ros2 launch … | head`) is no error of the launch."""
        if not isinstance(sys.exc_info()[1], BrokenPipeError):
            super().handleError(record)


class LaunchConfig:
    """Level, formats and folder of the logs of this process; `reset` starts over with a new folder."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Back to the defaults and to what the environment overrides."""
        self._log_dir: Path | None = None
        self.level = logging.INFO
        self.log_handler_factory: Callable[..., logging.Handler] = _file_handler
        """Makes the handler of a file: called with its path, and with `encoding` or without."""
        self._files: dict[str, logging.Handler] = {}
        self._own_files: dict[str, logging.Handler] = {}
        self._screen_format = os.environ.get("OVERRIDE_LAUNCH_SCREEN_FORMAT", "default")
        self._log_format = os.environ.get("OVERRIDE_LAUNCH_LOG_FORMAT", "default")
        self._screen = _ScreenHandler()
        self._log_style: str | None = None
        self.set_screen_format(self._screen_format)

    @property
    def level(self) -> int:
        """The level from which on lines are written."""
        return self._level

    @level.setter
    def level(self, level: int | str) -> None:
        self._level = logging.getLevelName(level) if isinstance(level, str) else level
        logging.getLogger(ROOT).setLevel(self._level)

    @property
    def log_dir(self) -> str:
        """This launch's folder, created when first asked for; below the temporary folder where home
        is read only.
        """
        if self._log_dir is None:
            name = f"{datetime.now():%Y-%m-%d-%H-%M-%S-%f}-{socket.gethostname()}-{os.getpid()}"
            self._log_dir = get_logging_directory() / name
            try:
                self._log_dir.mkdir(parents=True, exist_ok=True)
            except OSError:
                self._log_dir = Path(tempfile.mkdtemp(prefix=f"ros-log-{name}-"))
        return str(self._log_dir)

    @log_dir.setter
    def log_dir(self, path: str | Path) -> None:
        if not Path(path).is_dir():
            raise ValueError(f"{path} is not a folder: make it before it is to hold logs")
        self._log_dir = Path(path)

    def get_log_file_path(self, file_name: str = "launch.log") -> str:
        """The path of a file in this launch's folder."""
        return os.path.join(self.log_dir, file_name)

    def set_screen_format(self, screen_format: str, *, screen_style: str | None = None) -> None:
        """`default`, `default_with_timestamp`, or a format with `{levelname} {name} {msg} {created}`.

        Styles of formats are those of `logging`: `{` unless given. Raises ValueError for a name with a style.
        """
        self._screen_format = screen_format
        self._screen.setFormatter(_formatter(_SCREEN_FORMATS, screen_format, screen_style))

    def set_log_format(self, log_format: str, *, log_style: str | None = None) -> None:
        """`default`, or a format with `{levelname} {name} {msg} {created}`. Raises as for the screen."""
        formatter = _formatter(_LOG_FORMATS, log_format, log_style)
        self._log_format, self._log_style = log_format, log_style
        for handler in self._files.values():
            handler.setFormatter(formatter)

    def get_screen_handler(self) -> logging.Handler:
        """The handler of the screen."""
        return self._screen

    def get_log_file_handler(self, file_name: str = "launch.log") -> logging.Handler:
        """The handler of a file in this launch's folder."""
        if file_name not in self._files:
            handler = self.log_handler_factory(self.get_log_file_path(file_name))
            handler.setFormatter(_formatter(_LOG_FORMATS, self._log_format, self._log_style))
            self._files[file_name] = handler
        return self._files[file_name]

    def get_own_log_handler(self, file_name: str) -> logging.Handler:
        """The handler of a file that has the output of one process, without time stamps."""
        if file_name not in self._own_files:
            handler = self.log_handler_factory(self.get_log_file_path(file_name))
            handler.setFormatter(_Formatter("{msg}"))
            self._own_files[file_name] = handler
        return self._own_files[file_name]


launch_config = LaunchConfig()
"""The configuration of this process."""


# Loggers of the launch, and one for each stream of each process.


if TYPE_CHECKING:
    LoggerAdapter = logging.LoggerAdapter[logging.Logger]
else:
    LoggerAdapter = logging.LoggerAdapter  # takes no type arguments before Python 3.11

_PRESETS: dict[str, dict[str, set[str]]] = {
    "screen": {"both": {"screen"}},
    "log": {"both": {"log"}, "stderr": {"screen"}},
    "both": {"both": {"log", "screen"}},
    "own_log": {"both": {"own_log"}, "stdout": {"own_log"}, "stderr": {"own_log"}},
    "full": {"both": {"screen", "log", "own_log"}, "stdout": {"own_log"}, "stderr": {"own_log"}},
}
_made: set[str] = set()


def get_logger(name: str | None = None) -> logging.Logger:
    """The logger whose lines read `[LEVEL] [name]: …`, on the screen and in `launch.log`."""
    full_name = f"{ROOT}.{name}" if name else ROOT
    logger = logging.getLogger(full_name)
    if full_name not in _made:
        _made.add(full_name)
        logger.propagate = False
        logger.addHandler(launch_config.get_screen_handler())
        logger.addHandler(launch_config.get_log_file_handler())
    return logger


def handlers_of(
    process_name: str, output: str | Mapping[str, str | set[str]], stream: str
) -> list[logging.Handler]:
    """Where a stream (`stdout` or `stderr`) of a process goes.

    `output` is `screen`, `log`, `both`, `own_log` or `full`, or a mapping from `stdout`, `stderr` and `both`
    to sets of `screen`, `log` and `own_log`. Raises ValueError for anything else.
    """
    if isinstance(output, str):
        if output not in _PRESETS:
            raise ValueError(
                f"'{output}' is not a valid output; choose one of {', '.join(_PRESETS)} or give a mapping"
            )
        output = dict(_PRESETS[output])
    for source in output:
        if source not in ("stdout", "stderr", "both"):
            raise ValueError(f"'{source}' is no source of output; choose one of stdout, stderr, both")
    handlers: list[logging.Handler] = []
    for source in (stream, "both"):
        sinks = output.get(source, set())
        for sink in {sinks} if isinstance(sinks, str) else sinks:
            suffix = "" if source == "both" else f"-{source}"
            handlers.append(_handler(sink, f"{process_name}{suffix}.log"))
    return list(dict.fromkeys(handlers))


def _handler(sink: str, own_file: str) -> logging.Handler:
    if sink == "screen":
        return launch_config.get_screen_handler()
    if sink == "log":
        return launch_config.get_log_file_handler()
    if sink == "own_log":
        return launch_config.get_own_log_handler(own_file)
    raise ValueError(f"'{sink}' is not a valid destination of output; choose one of screen, log, own_log")


class _OutputLogger(LoggerAdapter):
    """Marks its lines as output, which are written as they come."""

    def process(self, msg: object, kwargs: object) -> tuple[object, dict[str, object]]:
        return msg, {"extra": {"is_output": True}}


def get_output_loggers(
    process_name: str, output_config: str | Mapping[str, str | set[str]]
) -> tuple[_OutputLogger, _OutputLogger]:
    """Loggers for standard output and standard error of a process.

    Raises ValueError as `handlers_of` does.
    """
    pair = []
    for stream in ("stdout", "stderr"):
        logger = logging.getLogger(f"launch.output.{process_name}-{stream}")
        logger.propagate = False
        logger.setLevel(logging.INFO)
        logger.handlers[:] = handlers_of(process_name, output_config, stream)
        pair.append(_OutputLogger(logger, {}))
    return pair[0], pair[1]


def log_to_file(logger: logging.Logger, text: str) -> None:
    """Write a line to `launch.log` whatever the level, and not to the screen."""
    record = logger.makeRecord(logger.name, logging.DEBUG, __file__, 0, text, (), None)
    launch_config.get_log_file_handler().handle(record)


def reset() -> None:
    """Forget all loggers and start a new folder."""
    for name in _made:
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).setLevel(logging.NOTSET)
    _made.clear()
    launch_config.reset()


# The handlers of Python's `logging` and `logging.handlers`, in one place.


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

offer_places(__name__)
