"""What sleeps in MuJoCo, by itself or told to, and what a state file may say of it: MuJoCo would believe anything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.errors import StateFileError
from fleet_sim.engines.mujoco.bound import MujocoState, check_state, restore_state, state_of

Sim = fs.MultiRobotSimulationCore

XML = """<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" size="5 5 .1"/>
<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
<body pos="0 0 .3"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""


def test_trees_that_are_none_are_refused() -> None:
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    model = mujoco.MjModel.from_xml_string(XML)
    bound: Any = SimpleNamespace(model=model, data=mujoco.MjData(model), waking=set())
    while bound.data.ntree_awake:
        mujoco.mj_step(model, bound.data)
    state = state_of(bound)
    # They sleep together: each is followed by the other.
    assert state.asleep.tolist() == [1, 0]
    check_state(bound, state)
    vector, accelerations = state.vector, state.accelerations
    for wrong in ([1, 2], [1, 1], [1, -1], [-100, -100], [1]):
        with pytest.raises(StateFileError):
            check_state(bound, MujocoState(vector, np.array(wrong), accelerations, ()))
    with pytest.raises(StateFileError):
        check_state(bound, MujocoState(vector, state.asleep, accelerations, (2,)))
    restore_state(bound, MujocoState(vector, state.asleep, accelerations, (0,)))
    assert not bound.data.ntree_awake
    assert bound.waking == {0}


def test_what_lies_in_a_bin_sleeps_until_something_falls_on_it() -> None:
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    die = fs.ShapeParams("box", half_extents=(0.02, 0.02, 0.02))
    params = fs.SimulationParams(gui=False, physics=True, engine="mujoco", timestep=0.02, target_rtf=0)
    with Sim(params) as sim:
        # A robot that stands still: it could move, and takes what lies in it along.
        sim.spawn(fs.AgentSpawnParams(urdf_path="bin", mass=0.0, initial_pose=fs.Pose.from_xyz(0.0, 0.0, 0.2)))
        places = [(0.0, 0.0, 0.25), (0.05, 0.0, 0.25), (0.01, 0.01, 0.3)]
        dice = [sim.spawn(fs.SimObjectSpawnParams(die, die, fs.Pose.from_xyz(*place), mass=0.02)) for place in places]

        def run(steps: int) -> list[tuple[float, ...]]:
            for _ in range(steps):
                sim.step_once()
            return [tuple(thing.get_pose().position) for thing in dice]

        lying = run(100)
        assert run(30) == lying
        saved = sim.save_state()
        sim.spawn(fs.SimObjectSpawnParams(die, die, fs.Pose.from_xyz(0.0, 0.0, 0.4), mass=0.02))
        hit = run(30)
        assert hit != lying
        # Sent to sleep, and woken up together.
        rows = np.array([thing.row for thing in dice])
        sim.engine.put_to_sleep(rows)
        asleep = run(1)
        assert run(10) == asleep
        sim.restore_state(saved)
        assert run(10) == lying
        dice[2].apply_force((0.0, 0.0, 1.0))
        assert run(5) != lying
