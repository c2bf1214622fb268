"""What every engine does: bodies that come and go, sweeps of kinematic ones, states; and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from things import run, thing

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


def test_equal_runs_are_equal_and_reset_begins_anew(make_sim: MakeSim) -> None:
    one, other = busy(make_sim), busy(make_sim)
    run(one, 40)
    run(other, 40)
    assert one.state_hash() == other.state_hash()
    one.reset()
    run(one, 40)
    assert one.state_hash() == other.state_hash()


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
