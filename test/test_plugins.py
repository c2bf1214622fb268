"""Parts that another distribution brings: its entry points are names like our own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MODULE = """
from dataclasses import dataclass
import numpy as np
import fleet_sim as fs

@dataclass(frozen=True)
class BeaconParams(fs.SensorParams):
    default_name = "beacon"

@dataclass(frozen=True, eq=False)
class BeaconReading(fs.Reading):
    distance: float

class Beacon(fs.SensorKind):
    params_class, reading_class = BeaconParams, BeaconReading
    def sense(self, batch):
        return {"distance": np.hypot(batch.positions[:, 0], batch.positions[:, 1])}

class Beep(fs.Action):
    def start(self, agent):
        self.complete()

class Nudge(fs.AgentController):
    def compute(self, agent, dt):
        agent.set_velocity(1.0)

class Jump:
    name = "jump"
    def step(self, world, rows, dt):
        world.position[rows, 0] += 5.0
        world.touch(rows)
        return rows[:0]

JUMP = Jump()

class Hello:
    def add(self, commands):
        commands.add_parser("hello").set_defaults(command=lambda args: print("hello") or 0)

HELLO = Hello()
"""

ENTRY_POINTS = """
[fleet_sim.sensor]
beacon = theirs:Beacon
[fleet_sim.action]
beep = theirs:Beep
broken = no_such_module:Beep
[fleet_sim.controller]
nudge = theirs:Nudge
[fleet_sim.motion_law]
jump = theirs:JUMP
[fleet_sim.subcommand]
hello = theirs:HELLO
[fleet_sim.environment]
Theirs/Docking-v0 = theirs_gym:DockingEnv
"""

BEGIN = """
import fleet_sim as fs
sim = fs.MultiRobotSimulationCore.from_dict({"simulation": {"timestep": 0.5, "monitor": False, "gui": False}})
def spawn(**settings):
    box = fs.ShapeParams(shape_type="box", half_extents=[0.1, 0.1, 0.1])
    return fs.Agent.from_params(fs.AgentSpawnParams(collision_shape=box, **settings), sim)
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str], str]:
    """Return what runs a program beside an installed distribution, and returns what it prints."""
    (tmp_path / "theirs.py").write_text(MODULE, encoding="utf-8")
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")

    def run(program: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-c", BEGIN + program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


PROGRAMS = {
    "nothing before its name is used": (
        "import sys; spawn(sensors=['lidar']); sim.step_once(); print('theirs' in sys.modules)",
        "False",
    ),
    "sensor": (
        "print(spawn(initial_pose=fs.Pose((3, 4, 0)), sensors=['beacon']).sensor('beacon').read().distance)",
        "5.0",
    ),
    "sensors are listed": ("print('beacon' in fs.list_sensors())", "True"),
    "action": (
        "a = fs.parse_action_goal('beep', '{}'); spawn().execute_action(a); sim.step_once(); print(a.status.name)",
        "COMPLETED",
    ),
    "controller": ("a = spawn(controller='nudge'); sim.step_once(); print(a.get_pose().x > 0.0)", "True"),
    "controllers are listed": ("print('nudge' in fs.list_controllers())", "True"),
    "motion law": (
        "a = spawn(motion_mode='jump'); a.set_velocity(1.0); sim.step_once(); print(a.get_pose().x, a.motion_mode)",
        "5.0 jump",
    ),
    "subcommand": ("from fleet_sim.apps.cli.main import main; main(['hello'])", "hello"),
    "motion law later": ("a = spawn(); a.set_motion_mode('jump'); print(a.motion_mode)", "jump"),
}


def test_a_distribution_adds_parts(run: Callable[[str], str]) -> None:
    # Each begins with a simulation of its own.
    said = run(BEGIN.join(program + "\n" for program, _ in PROGRAMS.values())).splitlines()
    assert dict(zip(PROGRAMS, said, strict=True)) == {kind: expected for kind, (_, expected) in PROGRAMS.items()}


def test_a_broken_part_is_named_and_the_others_work(run: Callable[[str], str]) -> None:
    program = """
try:
    fs.parse_action_goal("broken", "{}")
except fs.InvalidValueError as error:
    print(error)
print(type(fs.parse_action_goal("beep", "{}")).__name__)
"""
    first, second = run(program).splitlines()
    assert first.startswith("the action 'broken' of the package theirs 1.0 cannot be loaded from 'no_such_module:Beep'")
    assert second == "Beep"


def test_a_distribution_adds_an_environment(run: Callable[[str], str], tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    code = "import fleet_sim.learning.envs as envs\nclass DockingEnv(envs.NavigationEnv): pass\n"
    (tmp_path / "theirs_gym.py").write_text(code, encoding="utf-8")
    program = """
import sys, gymnasium
import fleet_sim.learning.envs
before = "theirs_gym" in sys.modules
print(before, type(gymnasium.make("Theirs/Docking-v0").unwrapped).__name__)
"""
    assert run(program) == "False DockingEnv"
