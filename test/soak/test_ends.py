"""The node ends well whenever it is interrupted; `ends.py` does this longer, and with more robots."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ros_domain import use_own_domain


@pytest.mark.slow
def test_ctrl_c_ends_the_node_well_at_any_moment() -> None:
    use_own_domain()
    command = [sys.executable, str(Path(__file__).parent / "ends.py"), "--runs", "4", "--robots", "5", "300"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 of 8 were not well" in done.stdout
