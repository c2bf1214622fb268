"""Names in the registry that other distributions and modules bring."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fleet_sim.base.errors import InvalidValueError, UnknownNameError
from fleet_sim.swarm import Controller, registry

MODULE = """
from fleet_sim.swarm import Controller

class Forward(Controller):
    def __init__(self, speed=1.0):
        self.speed = speed
    def get_actions(self, agent):
        return self.speed, 0.0
"""

PROGRAM = """
from fleet_sim.swarm import RectangularWorld
agent = {"type": "MazeAgent", "position": [1, 1], "controller": {"type": "forward", "speed": 2.0}}
world = RectangularWorld({"time_step": 0.5, "agents": [agent]})
world.evaluate(1)
print(world.population[0].x_pos)
"""


def test_an_entry_point_of_another_distribution_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(MODULE, encoding="utf-8")
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[fleet_sim.swarm.controller]\nforward = theirs:Forward\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "2.0\n", done.stderr


class Base(Controller):
    def __init__(self, speed: float, turn: float = 0.0) -> None:
        self.speed, self.turn = speed, turn

    def get_actions(self, agent: Any) -> tuple[float, float]:
        return self.speed, self.turn


class Derived(Base):
    def __init__(self, turn: float = 1.0, **more: Any) -> None:
        super().__init__(turn=turn, **more)


def test_what_a_constructor_passes_on_counts_as_its_own() -> None:
    assert list(registry.parameters_of(Derived)) == ["turn", "speed"]
    made = registry.make("controller", {"type": Derived, "speed": 2.0}, Controller)
    assert (made.speed, made.turn) == (2.0, 1.0)
    with pytest.raises(InvalidValueError, match=r"unknown parameter 'spede'. Did you mean 'speed'"):
        registry.make("controller", {"type": Derived, "spede": 2.0}, Controller)
    with pytest.raises(InvalidValueError, match="the parameter 'speed' is missing"):
        registry.make("controller", Base, Controller)


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("os.path", InvalidValueError, "expected a class derived from Controller, got <module"),
        ("os:nothing", InvalidValueError, "'os:nothing' cannot be imported"),
        ("collections:Counter", InvalidValueError, "expected a class derived from Controller"),
        (3, InvalidValueError, "must be a name or a mapping with a type"),
        ({"type": 3}, InvalidValueError, "type must be a name or a dotted path, got 3"),
        ("statik", UnknownNameError, "Did you mean 'static'"),
    ],
)
def test_what_is_no_controller_is_refused(spec: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        registry.make("controller", spec, Controller)
