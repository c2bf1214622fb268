"""A broker for tests: mosquitto as a process of its own where it is installed, else the one of the package."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from fleet_sim.warehouse.vda5050.broker import OwnBroker

MOSQUITTO = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def free_port() -> int:
    """A port that nobody listens at."""
    with contextlib.closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class TestBroker:
    """Starts at once; may be stopped and started again at the same port."""

    __test__ = False

    def __init__(self, config: str = "", folder: Path | None = None) -> None:
        self.port = free_port()
        self._config = None if folder is None else folder / "mosquitto.conf"
        if self._config is not None:
            self._config.write_text(config.format(port=self.port), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None
        self._own: OwnBroker | None = None
        self.start()

    def start(self) -> None:
        """Listen, and return when it does."""
        if MOSQUITTO is None:
            self._own = OwnBroker(self.port)
            return
        options = ["-p", str(self.port)] if self._config is None else ["-c", str(self._config)]
        self._process = subprocess.Popen(
            [MOSQUITTO, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        )
        end = time.monotonic() + 30.0
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
                return
            time.sleep(0.02)
        raise AssertionError("mosquitto does not listen")

    def stop(self) -> None:
        """Break all connections."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._own is not None:
            self._own.close()
            self._own = None
