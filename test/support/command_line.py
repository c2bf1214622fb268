"""The command `fleet-sim` as a user calls it, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def fleet_sim_command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fleet_sim.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
