"""Loggers of the launch, and one for each stream of each process."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .config import ROOT, launch_config

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
