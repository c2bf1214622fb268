"""Bumpers: who touches a robot, where, and when no more."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import PANDA, READY
from mimic_robots import mimic_file
from shapes_of_kinds import shape_of

import fleet_sim as fs
from fleet_sim.sensing.sensors.contact import ContactParams
from fleet_sim.sensing.sensors.solids import nearest_points, solids_of

Sim = fs.MultiRobotSimulationCore
BOT = fs.ShapeParams("cylinder", radius=0.2, height=0.4)


def robot(sim: Sim, x: float, y: float, yaw: float = 0.0, **settings: Any) -> fs.Agent:
    agent: fs.Agent = sim.spawn(
        fs.AgentSpawnParams(BOT, BOT, fs.Pose.from_yaw(x, y, 0.2, yaw), motion_mode="omnidirectional", **settings)
    )
    return agent


def test_contacts_begin_and_end(sim: Sim) -> None:
    first, second = robot(sim, 0.0, 0.0), robot(sim, 1.0, 0.0)
    bumpers = [sim.add_sensor("contact", agent) for agent in (first, second)]
    felt: list[tuple[bool, bool]] = []
    for bumper in bumpers:
        bumper.subscribe()
    first.set_velocity(1.0)
    for step in range(30):
        if step == 14:
            first.set_velocity(-1.0)
        sim.step_once()
        felt.append((bumpers[0].latest.touching, bumpers[1].latest.touching))
    assert felt[0] == felt[-1] == (False, False)
    assert (True, True) in felt
    assert all(a == b for a, b in felt)


def test_many_are_read_in_one_call(sim: Sim) -> None:
    fleet = [robot(sim, 0.39 * index, 0.0, sensors=["contact"]) for index in range(12)]
    sim.step_once()
    readings = sim.sensors.read([agent.sensor("contacts") for agent in fleet])
    ids = [agent.object_id for agent in fleet]
    expected = [[ids[near] for near in (index - 1, index + 1) if 0 <= near < 12] for index in range(12)]
    assert [reading.others.tolist() for reading in readings] == expected
    assert [reading.bearings.tolist() for reading in readings][1] == pytest.approx([math.pi, 0.0])


@pytest.mark.parametrize(
    ("kind", "point", "nearest"),
    [
        ("cylinder", (0.1, 0.0, 2.0), (0.1, 0.0, 0.5)),
        ("plane", (3.0, 4.0, 2.0), (3.0, 4.0, 0.0)),
        ("box", (0.1, 0.1, 0.1), (0.0, 0.0, 0.0)),
    ],
)
def test_nearest_points(sim: Sim, kind: Any, point: Any, nearest: Any) -> None:
    shape = shape_of(kind, half_extents=(0.5, 0.5, 0.5), radius=0.3, height=1.0)
    pose = fs.Pose.from_euler(1.0, 2.0, 3.0, 0.3, 0.5, 0.7)
    obj = sim.spawn(fs.SimObjectSpawnParams(None, shape, pose))

    def placed(local: Any) -> Any:
        mover = sim.add_sensor("contact", obj, name=f"{local}", pose=list(local))
        return np.array(mover.get_pose().position)

    found = nearest_points(solids_of(sim.world), np.array([obj.row]), placed(point)[None])
    assert found[0] == pytest.approx(placed(nearest))


def test_wrong_settings() -> None:
    with pytest.raises(fs.ConfigError, match="angle_max: must be at least angle_min"):
        ContactParams(angle_min=1.0, angle_max=0.5)


# ---- Force/torque sensors in the joints of robots that the engine moves ----------------------------------------------


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
