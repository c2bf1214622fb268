"""The command `fleet-sim` as a user calls it, but in this process: starting one takes longer than most tests."""

from __future__ import annotations

import io
import os
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from fleet_sim.apps.cli.main import main


def fleet_sim_command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Call `fleet-sim` in the folder `cwd`, and return its exit code and what it prints."""
    out, error, before = io.StringIO(), io.StringIO(), Path.cwd()
    os.chdir(cwd or before)
    try:
        with redirect_stdout(out), redirect_stderr(error):
            code = main(arguments)
    except SystemExit as end:
        code = int(str(end.code))
    finally:
        os.chdir(before)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), error.getvalue())
