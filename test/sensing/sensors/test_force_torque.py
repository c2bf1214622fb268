"""Force/torque sensors in the joints of robots that the engine moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import PANDA, READY
from mimic_robots import mimic_file

import fleet_sim as fs

Make = Callable[..., fs.MultiRobotSimulationCore]
G = 9.81


def spawn(sim: fs.MultiRobotSimulationCore, file: str, **settings: Any) -> fs.Agent:
    agent: fs.Agent = fs.Agent.from_urdf(file, sim_core=sim, use_fixed_base=True, **settings)
    return agent


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Links of 0.5 kg, 0.1 m in front of their joints, whose axes are upright."""
    return mimic_file(tmp_path, ("stiff", "fixed", ""), ("turn", "revolute", ""), ("slide", "prismatic", ""))


def run(sim: fs.MultiRobotSimulationCore, steps: int) -> None:
    for _ in range(steps):
        sim.step_once()


@pytest.mark.parametrize("link", ["stiff_link", "turn_link", "slide_link"])
def test_a_link_at_rest_is_held_up_by_its_weight(make_sim: Make, file: str, link: str) -> None:
    sim = make_sim(physics=True)
    agent = spawn(sim, file, sensors=[{"type": "force_torque", "link": link}])
    sensor = agent.sensor("wrench")
    assert np.isnan(sensor.read().force).all(), "nothing was measured yet"
    run(sim, 10)
    reading = sensor.read()
    assert reading.force == pytest.approx([0, 0, 0.5 * G], abs=0.01)
    assert reading.torque == pytest.approx([0, -0.05 * G, 0], abs=0.01)
    assert sensor.latest is not None


def test_readings_are_in_the_sensors_frame_about_its_origin(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True)
    pose = fs.Pose.from_euler(0.1, 0.0, 0.0, np.pi / 2, 0.0, 0.0)
    agent = spawn(sim, file, sensors=[fs.ForceTorqueParams(link="stiff_link", pose=pose)])
    run(sim, 3)
    reading = agent.sensor("wrench").read()
    # The centre of mass is where the sensor is, and up is its y axis.
    assert reading.force == pytest.approx([0, 0.5 * G, 0], abs=0.01)
    assert reading.torque == pytest.approx([0, 0, 0], abs=0.01)


def test_about_its_axis_a_motor_applies_the_torque(make_sim: Make) -> None:
    sim = make_sim(physics=True)
    sensors = [{"type": "force_torque", "name": f"s{n}", "link": f"panda_link{n}"} for n in (1, 2, 4)]
    arm = spawn(sim, PANDA, joint_positions=READY, sensors=sensors)
    run(sim, 40)
    model = arm.robot_model
    assert model is not None
    masses = [inertial.mass for inertial in model.inertials]
    for number in (1, 2, 4):
        joint = model.joint_index(f"panda_joint{number}")
        reading = arm.sensor(f"s{number}").read()
        assert np.linalg.norm(reading.force) == pytest.approx(G * sum(masses[joint + 1 :]), rel=0.01)
        assert reading.torque @ model.axes[joint] == pytest.approx(arm.joint_efforts[model.slots[joint]], abs=0.3)


def test_a_commanded_force_is_measured_too(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True, timestep=1 / 240)
    agent = spawn(sim, file, sensors=[{"type": "force_torque", "link": "turn_link"}])
    agent.set_joints_forces({"turn": 0.2})
    run(sim, 3)
    assert agent.sensor("wrench").read().torque[2] == pytest.approx(0.2, abs=0.02)


def test_noise_and_rate(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    spec = {"type": "force_torque", "link": "stiff_link", "rate": 10, "force_noise": 0.5, "torque_noise": 0.1}
    agent = spawn(sim, file, sensors=[spec])
    seen: list[Any] = []
    agent.sensor("wrench").on_reading(lambda sensor, reading: seen.append(reading))
    run(sim, 1000)
    assert len(seen) == 200
    forces, torques = np.array([r.force for r in seen[5:]]), np.array([r.torque for r in seen[5:]])
    assert forces.std(axis=0) == pytest.approx([0.5] * 3, rel=0.2)
    assert torques.std(axis=0) == pytest.approx([0.1] * 3, rel=0.2)


def test_readings_go_back_with_the_state_and_survive_a_new_engine(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True)
    agent = spawn(sim, file, sensors=[{"type": "force_torque", "link": "turn_link"}])
    run(sim, 3)
    moment = sim.save_state()

    def readings() -> list[list[float]]:
        out = []
        for _ in range(3):
            sim.step_once()
            reading = agent.sensor("wrench").read()
            out.append([*reading.force, *reading.torque])
        return out

    first = readings()
    agent.set_joint_velocity("turn", 1.0)
    run(sim, 3)
    sim.restore_state(moment)
    assert readings() == first
    sim.rebuild_engine()
    run(sim, 3)
    assert agent.sensor("wrench").read().force == pytest.approx([0, 0, 0.5 * G], abs=0.02)


def test_where_nothing_acts_it_is_refused(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True)
    spec = {"type": "force_torque", "link": "turn_link"}
    with pytest.raises(fs.StateError, match="has no forces in joints"):
        spawn(sim, file, mass=0.0, sensors=[spec])
    assert len(sim.agents) == 0
    with pytest.raises(fs.StateError, match="carried by no joint"):
        spawn(sim, file, sensors=[{"type": "force_torque"}])
    with pytest.raises(fs.StateError, match="the world has no forces in joints"):
        sim.add_sensor("force_torque")
