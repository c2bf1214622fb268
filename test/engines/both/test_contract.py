"""What every engine does: bodies that come and go, sweeps of kinematic ones, states; and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from things import run, thing

import fleet_sim as fs
from fleet_sim import (
    AgentSpawnParams,
    ConfigError,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObject,
    SimulationParams,
    StateError,
    StateFileError,
)
from fleet_sim.apps.cli.main import main
from fleet_sim.engines.mujoco.bound import MujocoState, check_state, restore_state, state_of

MakeSim = Callable[..., MultiRobotSimulationCore]
CUBE = ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
PLATE = ShapeParams("box", half_extents=(0.5, 0.5, 0.05))
BALL = ShapeParams("sphere", radius=0.1)


def busy(make_sim: MakeSim) -> MultiRobotSimulationCore:
    """A world with all that has a state: a base on its motors, things that fall and lie, and a plate that is moved."""
    sim = make_sim(physics=True, timestep=0.02)
    base = sim.spawn(AgentSpawnParams(urdf_path="diff_base", mass=None, motion_mode="differential", name="base"))
    base.set_goal_pose(Pose.from_xyz(0.8, 0.3, 0.0))
    for level in range(3):
        thing(sim, CUBE, 2.0, 0.02 * level, 0.1 + 0.21 * level, mass=1.0, name=f"cube_{level}")
    thing(sim, BALL, 0.5, 0.2, 0.6, mass=0.5, restitution=0.8, name="ball")
    thing(sim, PLATE, 4.0, 0.0, 0.3, name="plate")
    thing(sim, CUBE, 4.0, 0.0, 0.45, mass=1.0, name="rider")
    sim.register_callback(_move_plate)
    return sim


def _move_plate(sim: MultiRobotSimulationCore, dt: float) -> None:
    plate = sim.get_object("plate")
    plate.set_pose(Pose.from_xyz(plate.get_pose().x + 0.2 * dt, 0.0, 0.3))


def test_bodies_come_go_and_keep_their_state(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    first = thing(sim, BALL, 0.0, 0.0, 10.0, mass=1.0, linear_damping=0.0)
    run(sim, 25)
    # Spawned and removed while the first one falls, which goes on as if nothing had happened.
    others = [thing(sim, CUBE, 3.0 + 0.3 * index, 0.0, 0.1, mass=1.0) for index in range(20)]
    run(sim, 10)
    sim.remove_object(others[3])
    run(sim, 15)
    assert first.velocity[2] == pytest.approx(-9.81, abs=0.01)
    assert first.get_pose().z == pytest.approx(10.0 - 0.5 * 9.81, abs=0.05)
    assert all(other.get_pose().z == pytest.approx(0.1, abs=0.002) for other in others if other is not others[3])
    carrier = thing(sim, PLATE, 6.0, 0.0, 1.0)
    carrier.attach_object(others[0])
    run(sim, 10)
    held = others[0].get_pose().z
    run(sim, 10)
    assert others[0].get_pose().z == held
    carrier.detach_object(others[0])
    others[0].set_pose(Pose.from_xyz(3.0, 2.0, 1.0))
    run(sim, 60)
    assert others[0].get_pose().z == pytest.approx(0.1, abs=0.002)


def test_what_is_moved_pushes_and_carries(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    plate = thing(sim, PLATE, 0.0, 0.0, 0.3)
    rider = thing(sim, CUBE, 0.0, 0.0, 0.45, mass=1.0)
    wall, pushed = thing(sim, CUBE, 0.0, 3.0, 0.1), thing(sim, CUBE, 0.25, 3.0, 0.1, mass=1.0)
    run(sim, 25)
    for _ in range(100):
        plate.set_pose(Pose.from_xyz(plate.get_pose().x + 0.004, 0.0, 0.3))
        sim.step_once()
    assert plate.get_pose().x == pytest.approx(0.4)
    # Poses that are set outside of a step are no motion: the plate was put there, and the rider stayed behind.
    assert abs(rider.get_pose().x) < 0.05

    def drive(sim: MultiRobotSimulationCore, dt: float) -> None:
        plate.set_pose(Pose.from_xyz(plate.get_pose().x + 0.2 * dt, 0.0, 0.3))
        wall.set_pose(Pose.from_xyz(wall.get_pose().x + 0.2 * dt, 3.0, 0.1))

    before = rider.get_pose().x
    sim.register_callback(drive)
    run(sim, 100)
    assert rider.get_pose().x - before == pytest.approx(0.4, abs=0.03)
    assert pushed.get_pose().x == pytest.approx(wall.get_pose().x + 0.2, abs=0.01)


def settled(engine: str) -> MultiRobotSimulationCore:
    """Some things have come to rest after 3 s, others have not; one falls on the first later."""
    cube = {"shape": {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}, "mass": 1.0}
    objects = [{"name": f"low_{n}", "pose": [0.3 * n, 0.0, 0.1], **cube} for n in range(4)]
    objects += [
        {"name": "high", "pose": [0.05, 0.02, 50.0], **cube},
        {"name": "stack", "pose": [0.9, 0.0, 0.3], **cube},
    ]
    settings = {"gui": False, "target_rtf": 0, "physics": True, "engine": engine, "timestep": 0.02}
    return MultiRobotSimulationCore.from_dict({"simulation": settings, "objects": objects})


def test_a_run_that_was_saved_or_loaded_is_the_one_that_was_not(engine: str, tmp_path: Path) -> None:
    file = tmp_path / "settled.state"
    with settled(engine) as whole, settled(engine) as saved:
        run(whole, 350)
        run(saved, 150)
        at_rest = saved.get_object("low_0").get_pose().position
        saved.save_state(file)
        run(saved, 200)
        assert saved.state_hash() == whole.state_hash()
        with MultiRobotSimulationCore.from_state(file) as loaded:
            run(loaded, 200)
            assert loaded.state_hash() == whole.state_hash()
        saved.load_state(file)
        run(saved, 200)
        assert saved.state_hash() == whole.state_hash()
        # Woken up by what fell on it: what sleeps does not move by the least bit.
        assert at_rest != whole.get_object("low_0").get_pose().position
        assert whole.get_object("high").get_pose().z < 1.0


def test_more_contacts_than_were_thought_of_find_room() -> None:
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    assert mujoco.__version__
    params = SimulationParams(gui=False, physics=True, engine="mujoco", timestep=0.02)
    with MultiRobotSimulationCore(params) as sim:
        # A pile of cubes in one place: each overlaps all the others.
        pile = [thing(sim, CUBE, 0.0, 0.0, 0.2 + 0.001 * index, mass=1.0) for index in range(60)]
        run(sim, 3)
        assert np.isfinite([cube.get_pose().position for cube in pile]).all()


def test_what_mujoco_has_not_names_the_engine_that_has_it() -> None:
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    with pytest.raises(ConfigError, match="engine: bullet"):
        SimulationParams(physics=True, engine="mujoco", gui=True)
    with pytest.raises(ConfigError, match="engine: bullet"):
        SimulationParams(physics=True, engine="mujoco", gui=False, pose_flush="step")
    settings = {"gui": False, "physics": True, "engine": "mujoco"}
    with MultiRobotSimulationCore(SimulationParams(**settings)) as sim:
        for ask in (lambda: sim.bullet.getNumBodies(), lambda: sim.client, lambda: SimObject(1, sim)):
            with pytest.raises(StateError, match="engine: bullet"):
                ask()


def test_a_state_file_is_read_with_its_engine(make_sim: MakeSim, engine: str, tmp_path: Path) -> None:
    sim = busy(make_sim)
    run(sim, 30)
    file = tmp_path / "a.state"
    sim.save_state(file, user_code=True)
    run(sim, 40)
    after = sim.state_hash()
    again = busy(make_sim)
    again.load_state(file)
    run(again, 40)
    assert again.state_hash() == after
    other = "bullet" if engine == "mujoco" else "mujoco"
    pytest.importorskip({"bullet": "pybullet"}.get(other, other), reason=f"{other} is not installed")
    with pytest.raises(StateFileError):
        busy(lambda **settings: make_sim(**{**settings, "engine": other})).load_state(file)


def test_the_command_line_and_environments_choose_the_engine(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["run", "arm.yaml", "--duration", "0.2", "--headless", "--rtf", "0", "--set", "simulation.physics=true"]
    assert main([*flags, "--engine", engine]) == 0
    assert "sim" in capsys.readouterr().out
    gym = pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    few = {"scene": {"bin": {"objects": {"min-number-of-objects": 1, "max-number-of-objects": 1}}}}
    env = gym.make("fleet_sim.learning.envs:FleetSim/FrankaDelta-v0", config_file=few, engine=engine)
    try:
        env.reset(seed=1)
        arm = env.unwrapped
        assert arm.sim.engine.name == engine
        before = arm.arm().get_gripper_state()[0]
        _, reward, *_ = env.step(np.array([0.0, 0.0, 0.016, 0.0, 1.0], np.float32))
        assert np.isfinite(reward)
        assert arm.arm().get_gripper_state()[0][2] - before[2] == pytest.approx(0.016, abs=0.003)
    finally:
        env.close()


# ---- Errors of MuJoCo in a step: for want of memory the step is made again, others are told --------------------------


DROPPED = AgentSpawnParams(
    name="ball", collision_shape=BALL, visual_shape=BALL, initial_pose=Pose((0.0, 0.0, 1.0)), mass=1.0
)


@pytest.mark.parametrize(
    ("text", "again"), [("mj_stackAlloc: out of memory, stack overflow", True), ("mj_kinematics: no such tree", False)]
)
def test_only_a_lack_of_memory_is_made_good(monkeypatch: pytest.MonkeyPatch, text: str, again: bool) -> None:
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    step, calls = mujoco.mj_step2, []

    def failing_once(*args: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise mujoco.FatalError(text)
        step(*args)

    with MultiRobotSimulationCore(SimulationParams(gui=False, physics=True, engine="mujoco")) as sim:
        ball = sim.spawn(DROPPED)
        monkeypatch.setattr(mujoco, "mj_step2", failing_once)
        if again:
            sim.run_simulation(0.1)
            assert len(calls) > 1 and ball.get_pose().z < 1.0
        else:
            with pytest.raises(StateError, match="no such tree"):
                sim.step_once()


# ---- mujoco state ----------------------------------------------------------------------------------------------------


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
