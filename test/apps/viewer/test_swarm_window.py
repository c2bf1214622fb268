"""The window, for real: under a virtual X server, with keys and the mouse moved by xdotool."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from system_packages import need_tkinter
from virtual_display import virtual_display

from fleet_sim.base.errors import StateError
from fleet_sim.swarm import simulate
from fleet_sim.swarm.world import RectangularWorld

PROGRAM = Path(__file__).with_name("swarm_window_program.py")


@pytest.mark.parametrize("what", ["events", "held", "closing"])
def test_the_window_shows_a_world_and_hears_its_user(what: str) -> None:
    need_tkinter()
    with virtual_display() as display:
        done = subprocess.run(
            [sys.executable, str(PROGRAM), what],
            env={**os.environ, "DISPLAY": display},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr


def test_without_a_display_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(StateError, match=r"no window can be opened: .*; run without one"):
        simulate.open_window(RectangularWorld())


def test_without_tkinter_it_names_the_package() -> None:
    program = (
        "import sys; sys.modules['tkinter'] = sys.modules['_tkinter'] = None\n"
        "from fleet_sim.swarm import simulate\nfrom fleet_sim.swarm.world import RectangularWorld\n"
        "simulate.open_window(RectangularWorld())"
    )
    environment = {**os.environ, "DISPLAY": ":99"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert "StateError: no window can be opened: this Python has no tkinter" in done.stderr
    assert "apt install python3-tk; run without one" in done.stderr
