"""The log level of fleet_sim."""

from __future__ import annotations

import logging

from fleet_sim.errors import InvalidValueError, did_you_mean

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}


class LogLevelManager:
    """Sets the level of the package's logger `fleet_sim`; other loggers are not changed."""

    @staticmethod
    def set_log_level(level: str) -> None:
        """Log from `level` on: debug, info, warn, error or critical. Raises InvalidValueError."""
        if level not in LEVELS:
            raise InvalidValueError(f"log level: unknown level {level!r}.{did_you_mean(str(level), LEVELS)}")
        logging.getLogger("fleet_sim").setLevel(LEVELS[level])
