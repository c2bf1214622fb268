"""A fleet of VDA 5050 as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mqtt_broker import TestBroker


@contextmanager
def vehicle_fleet(broker: TestBroker, scenario: str, rtf: float) -> Iterator[subprocess.Popen[str]]:
    """Run a scenario whose robots are vehicles of a broker, until it is killed; at the end print what it said."""
    command = [sys.executable, "-m", "fleet_sim.apps.cli.main", "run", scenario, "--headless"]
    command += ["--vda5050", f"mqtt://127.0.0.1:{broker.port}", "--rtf", f"{rtf:g}", "--duration", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.kill()
        # Reads what is left and closes the pipe.
        print(process.communicate()[0])
