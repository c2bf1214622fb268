"""Where log lines go and how they look."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    StreamHandler = logging.StreamHandler[TextIO]
else:
    StreamHandler = logging.StreamHandler  # takes no type arguments before Python 3.11

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

    def __init__(self, line_format: str) -> None:
        super().__init__()
        self.line_format = line_format

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if getattr(record, "is_output", False):
            return f"{record.created:.7f} {message}" if "{created" in self.line_format else message
        name = record.name.removeprefix("launch.logging.")
        return self.line_format.format(
            levelname=record.levelname, name=name, msg=message, message=message, created=record.created
        )


class _ScreenHandler(StreamHandler):
    """Writes to whatever `sys.stdout` is now, so that a redirection counts; output of processes at
    any level.
    """

    def __init__(self) -> None:
        super().__init__(sys.stdout)
        self.least = logging.INFO

    def filter(self, record: logging.LogRecord) -> bool:
        """Files have everything; the screen has what the level asks for."""
        return getattr(record, "is_output", False) or record.levelno >= self.least

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
        self._level = logging.INFO
        self._files: dict[str, logging.Handler] = {}
        self._own_files: dict[str, logging.Handler] = {}
        self._screen_format = os.environ.get("OVERRIDE_LAUNCH_SCREEN_FORMAT", "default")
        self._log_format = os.environ.get("OVERRIDE_LAUNCH_LOG_FORMAT", "default")
        self._screen = _ScreenHandler()
        self.set_screen_format(self._screen_format)

    @property
    def level(self) -> int:
        """The level from which on lines are on the screen; files have all."""
        return self._level

    @level.setter
    def level(self, level: int | str) -> None:
        self._level = logging.getLevelName(level) if isinstance(level, str) else level
        self._screen.least = self._level

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
    def log_dir(self, path: str) -> None:
        self._log_dir = Path(path)
        self._log_dir.mkdir(parents=True, exist_ok=True)

    def get_log_file_path(self, file_name: str = "launch.log") -> str:
        """The path of a file in this launch's folder."""
        return os.path.join(self.log_dir, file_name)

    def set_screen_format(self, screen_format: str, *, screen_style: str | None = None) -> None:
        """`default`, `default_with_timestamp`, or a format with `{levelname} {name} {msg} {created}`."""
        self._screen_format = screen_format
        self._screen.setFormatter(_Formatter(_SCREEN_FORMATS.get(screen_format, screen_format)))

    def set_log_format(self, log_format: str, *, log_style: str | None = None) -> None:
        """`default`, or a format with `{levelname} {name} {msg} {created}`."""
        self._log_format = log_format
        for handler in self._files.values():
            handler.setFormatter(_Formatter(_LOG_FORMATS.get(log_format, log_format)))

    def get_screen_handler(self) -> logging.Handler:
        """The handler of the screen."""
        return self._screen

    def get_log_file_handler(self, file_name: str = "launch.log") -> logging.Handler:
        """The handler of a file in this launch's folder."""
        if file_name not in self._files:
            handler = logging.FileHandler(self.get_log_file_path(file_name), delay=True)
            handler.setFormatter(_Formatter(_LOG_FORMATS.get(self._log_format, self._log_format)))
            self._files[file_name] = handler
        return self._files[file_name]

    def get_own_log_handler(self, file_name: str) -> logging.Handler:
        """The handler of a file that has the output of one process, without time stamps."""
        if file_name not in self._own_files:
            handler = logging.FileHandler(self.get_log_file_path(file_name), delay=True)
            handler.setFormatter(_Formatter("{msg}"))
            self._own_files[file_name] = handler
        return self._own_files[file_name]


launch_config = LaunchConfig()
"""The configuration of this process."""
