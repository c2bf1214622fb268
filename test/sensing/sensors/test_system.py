"""Which sensors are read, when, in how many calls, and what becomes of them."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import system_packages
from probes import Probe, ProbeParams, agents
from small_world import BOX, build
from things import run as steps

import fleet_sim as fs
from fleet_sim import AgentSpawnParams, MissingDependencyError, Pose, ShapeParams, SimObjectSpawnParams
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.models.kinematics.tree import FrameLink, base_frame, fixed_links, moving_links
from fleet_sim.sensing.sensors import Sensor, list_sensors, register_sensor
from fleet_sim.sensing.sensors.registry import SENSORS
from fleet_sim.sensing.sensors.sensor import frame_links, frame_of, optical_frame_of, owner_of
from fleet_sim.world.commands import Frames

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]


@pytest.fixture(autouse=True)
def calls() -> list[int]:
    Probe.calls.clear()
    return Probe.calls


def test_nothing_is_read_without_a_consumer(sim: Sim, calls: list[int]) -> None:
    probes = [sim.add_sensor("probe", agent) for agent in agents(sim, 3)]
    steps(sim, 3)
    assert calls == []
    assert [probe.latest for probe in probes] == [None] * 3


def test_all_that_are_due_are_read_in_one_call(sim: Sim, calls: list[int]) -> None:
    fleet = agents(sim, 5)
    probes = [sim.add_sensor("probe", agent, pose=[0.1 * i, 0, 0], name=f"p{i}") for i, agent in enumerate(fleet)]
    for probe in probes[1:]:
        probe.subscribe()
    sim.step_once()
    assert calls == [4]
    assert probes[0].latest is None
    assert probes[2].latest.place == pytest.approx(np.array(probes[2].get_pose().position))


def test_another_rate_or_setting_is_another_call(sim: Sim, calls: list[int]) -> None:
    (agent,) = agents(sim, 1)
    for index, settings in enumerate([{}, {"rate": 5}, {"gain": 2}]):
        sim.add_sensor("probe", agent, name=f"p{index}", **settings).subscribe()
    steps(sim, 2)
    assert calls == [1, 1, 1, 1, 1]


@pytest.mark.parametrize(("rate", "expected"), [(None, 100), (3, 30), (10, 100), (100, 100), (0.1, 1)])
def test_the_rate_is_exact(sim: Sim, rate: float | None, expected: int) -> None:
    readings: list[Any] = []
    (agent,) = agents(sim, 1)
    probe = sim.add_sensor("probe", agent, rate=rate)
    probe.on_reading(lambda sensor, reading: readings.append(reading))
    steps(sim, 100)
    assert len(readings) == expected
    assert readings[-1].tick == sim.step_count
    assert readings[-1].time == sim.sim_time


def test_a_reading_holds_at_the_end_of_its_step(sim: Sim) -> None:
    (agent,) = agents(sim, 1)
    probe = sim.add_sensor("probe", agent)
    probe.subscribe()
    agent.set_velocity(1.0)
    steps(sim, 5)
    assert probe.latest.place == pytest.approx(np.array(agent.get_pose().position))
    assert probe.latest.time == sim.sim_time
    again = probe.read()
    assert (again.time, again.noise.tolist()) == (sim.sim_time, again.noise.tolist())
    with pytest.raises(ValueError, match="read-only"):
        again.place[0] = 3.0


def test_readings_stop_with_the_last_consumer(sim: Sim, calls: list[int]) -> None:
    probe = sim.add_sensor("probe", agents(sim, 1)[0])
    heard: list[Sensor] = []

    def hear(sensor: Sensor, reading: Any) -> None:
        heard.append(sensor)

    probe.on_reading(hear)
    probe.subscribe()
    sim.step_once()
    assert probe.off_reading(hear)
    assert not probe.off_reading(hear)
    sim.step_once()
    probe.unsubscribe()
    probe.unsubscribe()
    sim.step_once()
    assert (heard, calls, probe.has_consumer) == ([probe], [1, 1], False)


def test_a_failing_handler_does_not_stop_the_others(sim: Sim) -> None:
    probe = sim.add_sensor("probe", agents(sim, 1)[0])
    heard = []
    probe.on_reading(lambda sensor, reading: 1 / 0)
    probe.on_reading(lambda sensor, reading: heard.append(reading))
    steps(sim, 2)
    assert len(heard) == 2
    assert sim.guard.total == 2


def test_many_are_read_at_once_on_demand(sim: Sim, calls: list[int]) -> None:
    probes = [sim.add_sensor("probe", agent) for agent in agents(sim, 4)]
    readings = sim.sensors.read([probes[3], probes[1], probes[3]])
    assert calls == [2]
    assert [reading.place[0] for reading in readings] == [6.0, 2.0, 6.0]
    assert probes[1].latest.place[0] == 2.0


# ---- noise -----------------------------------------------------------------------------------------------------------


def test_noise_depends_on_seed_name_and_time_alone(make_sim: MakeSim) -> None:
    def noise(count: int, seed: int = 1, others: int = 0, extra_reads: int = 0) -> list[list[float]]:
        sim = make_sim(seed=seed)
        fleet = agents(sim, count + others)
        probe = sim.add_sensor("probe", fleet[count - 1])
        for agent in fleet[count:]:
            sim.add_sensor("probe", agent).subscribe()
        probe.subscribe()
        out = []
        for _ in range(3):
            sim.step_once()
            for _ in range(extra_reads):
                probe.read()
            out.append(probe.latest.noise.tolist())
        return out

    expected = noise(1)
    assert noise(1) == expected
    assert noise(1, others=30) == expected
    assert noise(1, extra_reads=2) == expected
    assert noise(1, seed=2) != expected
    assert noise(2) != expected
    assert len({number for reading in expected for number in reading}) == 15


# ---- spreading -------------------------------------------------------------------------------------------------------


def test_expensive_sensors_are_spread_over_the_steps_of_their_period(sim: Sim, calls: list[int]) -> None:
    fleet = agents(sim, 7, sensors=[{"type": "slow_probe", "rate": 2.5}])
    for agent in fleet:
        agent.sensor("probe").subscribe()
    steps(sim, 40)
    assert sorted(calls) == [1] * 10 + [2] * 30
    ticks = {agent.sensor("probe").latest.tick for agent in fleet}
    assert ticks == {37, 38, 39, 40}


# ---- coming and going ------------------------------------------------------------------------------------------------


def test_sensors_go_with_their_robot(sim: Sim) -> None:
    fleet = agents(sim, 3, sensors=[{"type": "probe"}, {"type": "imu"}])
    probes = [agent.sensor("probe") for agent in fleet]
    for probe in probes:
        probe.subscribe()
    sim.remove_object(fleet[1])
    sim.step_once()
    assert [probe.is_alive for probe in probes] == [True, False, True]
    assert probes[2].latest.place[0] == 4.0
    assert len(sim.sensors) == 4
    with pytest.raises(fs.StateError, match="was removed"):
        probes[1].read()
    probes[1].unsubscribe()


def test_a_sensor_of_another_simulation_is_not_read(sim: Sim) -> None:
    with fs.MultiRobotSimulationCore() as other:
        probe = other.add_sensor("probe")
        with pytest.raises(fs.StateError, match="belongs to another simulation"):
            sim.sensors.read([probe])


def test_one_sensor_can_be_removed(sim: Sim) -> None:
    fleet = agents(sim, 2, sensors=[{"type": "probe"}])
    first, second = (agent.sensor("probe") for agent in fleet)
    second.subscribe()
    sim.remove_sensor(first)
    sim.step_once()
    assert fleet[0].sensors == []
    assert second.latest.place[0] == 2.0
    with pytest.raises(fs.UnknownNameError, match="unknown sensor of 'r0' 'probe'"):
        fleet[0].sensor("probe")
    assert sim.add_sensor("probe", fleet[0]).is_alive


def test_sensors_fixed_in_the_world(sim: Sim) -> None:
    probe = sim.add_sensor("probe", pose=[1, 2, 3, 0.5])
    assert probe.read().place.tolist() == [1, 2, 3]
    assert sim.get_sensor("probe") is probe
    sim.clear()
    assert not probe.is_alive
    assert sim.sensors.all == []


def test_a_scenario_has_sensors_on_robots_and_in_the_world() -> None:
    config = {
        "simulation": {"gui": False},
        "robots": [{"name": "amr", "grid": {"count": 3}, "sensors": [{"type": "probe", "rate": 5, "gain": 2}]}],
        "sensors": [{"type": "probe", "name": "gate", "pose": [1, 2, 3]}],
    }
    with Sim.from_dict(config) as sim:
        probes = [agent.sensor("probe") for agent in sim.agents]
        assert [probe.params for probe in probes] == [ProbeParams(rate=5, gain=2)] * 3
        assert sim.get_sensor("gate").get_pose() == fs.Pose.from_xyz(1, 2, 3)
        assert sim.get_sensor("amr_1/probe") is probes[1]


# ---- going back ------------------------------------------------------------------------------------------------------


def history(sim: Sim, sensor: Sensor, count: int) -> list[Any]:
    out = []
    for _ in range(count):
        sim.step_once()
        latest = sensor.latest
        out.append(latest and (latest.tick, latest.count, latest.place.tolist(), latest.noise.tolist()))
    return out


def test_reset_begins_anew(sim: Sim) -> None:
    probe = agents(sim, 1, sensors=["probe"])[0].sensor("probe")
    probe.subscribe()
    expected = history(sim, probe, 4)
    sim.reset()
    assert probe.latest is None
    assert history(sim, probe, 4) == expected


# ---- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"type": "prob"}, r"sensors\[0\].type: unknown sensor 'prob'. Did you mean 'probe'"),
        ({"type": "probe", "gian": 1}, r"sensors\[0\].gian: unknown key. Did you mean 'gain'"),
        ({"type": "probe", "gain": -1}, r"sensors\[0\].gain: must be a number at least 0, got -1"),
        ({"type": "probe", "rate": 0}, r"sensors\[0\].rate: must be"),
        ({"gain": 1}, r"sensors\[0\]: must be a mapping with `type`"),
        ({"type": "probe", "pose": [1, 2]}, r"sensors\[0\].pose: expected 3 or 4 numbers"),
        ({"type": "probe", "link": "arm"}, r"r0 has no link 'arm'"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_spawned(sim: Sim, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.FleetSimError, match=message):
        agents(sim, 1, sensors=[spec])
    assert len(sim.world) == 0
    assert len(sim.sensors) == 0


def test_names_are_unique_on_a_robot(sim: Sim) -> None:
    with pytest.raises(fs.ConfigError, match=r"sensors\[1\].name: there are two sensors named 'probe'"):
        agents(sim, 1, sensors=["probe", "probe"])
    (agent,) = agents(sim, 1, sensors=["probe"])
    with pytest.raises(fs.DuplicateNameError, match="'r0' has a sensor named 'probe' already"):
        sim.add_sensor("probe", agent)
    assert sim.add_sensor("probe", agent, name="second").name == "second"


def test_kinds_are_registered_once() -> None:
    assert "probe" in list_sensors()
    with pytest.raises(fs.DuplicateNameError):
        register_sensor("probe", Probe)
    with pytest.raises(fs.InvalidValueError, match="it is that of 'probe'"):
        register_sensor("other_probe", Probe)
    with pytest.raises(fs.InvalidValueError, match="derived from SensorKind"):
        register_sensor("number", int)  # type: ignore[arg-type]


# ---- Frames of sensors beside those of the links of their robot: a tree, whatever the names are ----------------------


FRAMES = Frames("map")
CONFIG = Path(__file__).parents[3] / "config"


def all_links(sim: fs.MultiRobotSimulationCore) -> list[FrameLink]:
    """Return the transforms of all robots and sensors, as ROS has them."""
    found = []
    for agent in sim.agents:
        model = sim.world.model_of(agent.row)
        found += [FrameLink("map", FRAMES.odom(agent.name))]
        found += [FrameLink(FRAMES.odom(agent.name), base_frame(FRAMES, agent.name, model))]
        if model is not None:
            found += [*moving_links(FRAMES, agent.name, model), *fixed_links(FRAMES, agent.name, model)]
    return found + [link for sensor in sim.sensors.all for link in frame_links(FRAMES, sensor)]


def assert_tree(links: list[FrameLink]) -> None:
    """Every frame has one parent, and all parents end at the map."""
    assert [child for child, count in Counter(link.child for link in links).items() if count > 1] == []
    parents = {link.child: link.parent for link in links}
    for frame in parents:
        seen = []
        while frame != "map":
            assert frame not in seen, f"{frame} is below itself: {seen}"
            seen.append(frame)
            frame = parents[frame]


@pytest.mark.parametrize("name", ["mobile_manipulator", "sensors", "warehouse", "nav2"])
def test_the_frames_of_shipped_scenarios_are_a_tree(name: str) -> None:
    with fs.MultiRobotSimulationCore.from_yaml(CONFIG / f"{name}.yaml") as sim:
        assert_tree(all_links(sim))


def test_sensors_with_names_of_links() -> None:
    def spawn(name: str) -> fs.Agent:
        return sim.spawn(fs.AgentSpawnParams(name=name, urdf_path=fs.resolve_urdf("diff_base")))

    with fs.MultiRobotSimulationCore() as sim:
        a, b = spawn("a"), spawn("b")
        mounted = [
            # On the optical frame of the model, as the documents say: it is the frame of the pictures.
            sim.add_sensor("camera", a, name="camera", link="camera_optical_frame", frame="optical", width=8, height=8),
            # On the link of its own name: the frame of the link is its frame.
            sim.add_sensor("imu", a, name="imu_link", link="imu_link"),
            # Elsewhere than the link of its name: another frame.
            sim.add_sensor("imu", a, name="base_scan", pose=[0.0, 0.1, 0.2]),
            sim.add_sensor("imu", a, name="odom"),
            sim.add_sensor("imu", a, name="base_link", pose=[0.0, 0.0, 0.5]),
            sim.add_sensor("camera", b, name="camera", pose=[0.3, 0.0, 0.2], width=8, height=8),
        ]
        assert_tree(all_links(sim))
        frames = [frame_of(FRAMES, sensor).removeprefix(f"{owner_of(sensor)}/") for sensor in mounted]
        assert frames == ["camera", "imu_link", "base_scan_sensor", "odom_sensor", "base_link_sensor", "camera"]
        assert optical_frame_of(FRAMES, mounted[0]) == "a/camera_optical_frame"
        assert optical_frame_of(FRAMES, mounted[5]) == "b/camera_optical_frame_sensor"


# ---- parameters count ------------------------------------------------------------------------------------------------


TURNED = {"position": [0.3, 0.1, 0.4], "yaw": 0.4}
WALL = ShapeParams("box", half_extents=(0.2, 3.0, 1.0), rgba_color=(1, 0, 0, 1))


def contents(value: Any) -> Any:
    """Return what a reading holds, as something that can be compared."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if is_dataclass(value):
        return {field.name: contents(getattr(value, field.name)) for field in fields(value)}
    return repr(value)


@functools.cache
def plain_readings(kind: str) -> Any:
    """Return what a sensor of a kind reads with the parameters that all cases begin from."""
    return readings({"type": kind, **BASE.get(kind, {})})


def readings(spec: dict[str, Any]) -> Any:
    """Return what a sensor reads on an arm that drives and moves towards a wall, and touches a box."""
    # Closed at once: a renderer holds 70 MB until then.
    with build({"physics": spec["type"] == "force_torque"}) as sim:
        for place, shape in ((Pose((2.5, 0, 1)), WALL), (Pose((0.0, 2.0, 0.3)), BOX), (Pose((0.05, 0.05, 0.1)), BOX)):
            if not sim.params.physics:
                sim.spawn(SimObjectSpawnParams(shape, shape, place))
        mass = {"mass": None, "use_fixed_base": True} if sim.params.physics else {}
        arm = AgentSpawnParams(urdf_path="arm6", motion_mode="omnidirectional", sensors=[spec], **mass)
        robot = sim.spawn(arm)
        (sensor,) = robot.sensors
        if not sim.params.physics:
            robot.set_velocity(0.5, 0.2, wz=0.5)
        robot.set_joints_targets_by_name({"joint_1": 1.0, "joint_2": 0.7})
        seen: list[Any] = []
        sensor.on_reading(lambda sensor, reading: seen.append(contents(reading)))
        for _ in range(8):
            sim.step_once()
        assert seen
        return sensor.name, seen


COMMON = {"name": "other", "rate": 4.0, "link": "forearm_link", "pose": TURNED}
OWN: dict[str, dict[str, Any]] = {
    "camera": {
        **{"width": 20, "height": 10, "horizontal_fov": 0.6, "intrinsics": [30.0, 30.0, 7.0, 3.0], "near": 1.5},
        **{"far": 1.0, "channels": ["depth"], "frame": "optical", "shadows": True, "rgb_noise": 0.1},
        **{"depth_noise": 0.1, "renderer": "tiny", "rate": 20.0},
    },
    "contact": {"angle_min": 0.5, "angle_max": 0.5},
    "force_torque": {"force_noise": 0.1, "torque_noise": 0.1},
    "imu": {
        **{"orientation_noise": 0.1, "gyro_noise": 0.1, "gyro_bias_walk": 0.1, "accel_noise": 0.1},
        "accel_bias_walk": 0.1,
    },
    "lidar": {
        **{"rays": 40, "angle_min": -1.0, "angle_max": 1.0, "range_min": 2.0, "range_max": 2.0, "noise": 0.1},
        **{"relative_noise": 0.1, "intensities": True, "labels": True},
    },
    "lidar_3d": {
        **{"rays": 40, "layers": 8, "angle_min": -1.0, "angle_max": 1.0, "elevation_min": -0.1, "range_min": 2.0},
        **{"elevation_max": 0.1, "range_max": 2.0, "noise": 0.1, "relative_noise": 0.1},
    },
    "odometry": {
        **{"linear_scale": 1.1, "angular_scale": 1.1, "linear_noise": 0.1, "angular_noise": 0.1},
        "heading_noise": 0.1,
    },
    "range": {
        **{"field_of_view": 1.5, "shape": "cone", "rays": 4, "range_min": 2.2, "range_max": 1.0, "noise": 0.1},
        "relative_noise": 0.1,
    },
}
BASE: dict[str, dict[str, Any]] = {
    "camera": {"width": 16, "height": 12, "pose": {"position": [0.6, 0, 1.0], "rpy": [0, 0.5, 0]}},
    "range": {"pose": {"position": [0.6, 0, 1.0], "yaw": 0.1}},
    "lidar": {"pose": {"position": [0.6, 0, 1.0]}},
    "lidar_3d": {"pose": {"position": [0.6, 0, 1.0]}},
    "force_torque": {"link": "wrist_1_link"},
}
ELSEWHERE = {("range", "radiation"): "a word in messages of ROS 2 alone: system/test_sensors.py"}
"""Parameters that no reading shows, and what does."""

CASES = [(kind, name, value) for kind, own in OWN.items() for name, value in {**COMMON, **own}.items()]


@pytest.mark.parametrize(("kind", "name", "value"), CASES)
def test_a_parameter_of_a_sensor_counts(kind: str, name: str, value: Any) -> None:
    if kind == "camera":
        # PyBullet's renderer, which draws where there is no OpenGL, knows no shadows, and is the other one to compare.
        (system_packages.need_opengl if name in ("shadows", "renderer") else system_packages.need_pictures)()
    assert readings({"type": kind, **BASE.get(kind, {}), name: value}) != plain_readings(kind)


@pytest.mark.parametrize("kind", sorted(OWN))
def test_every_parameter_of_a_sensor_is_looked_at(kind: str) -> None:
    assert set(fields_of(SENSORS.get(kind).params_class)) == {
        *COMMON,
        *OWN[kind],
        *(name for of, name in ELSEWHERE if of == kind),
    }


def test_every_sensor_is_looked_at() -> None:
    assert {name for name in SENSORS.names() if SENSORS.get(name).__module__.startswith("fleet_sim.")} == set(OWN)


# ---- What PyBullet computes is refused where it is not installed, when it is added and not in some step --------------


def test_a_camera_that_pybullet_draws_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleet_sim.sensing.sensors.sensor.find_spec", lambda name: None)
    with build({}) as sim:
        with pytest.raises(MissingDependencyError, match="needs the Python module 'pybullet'"):
            sim.add_sensor({"type": "camera", "renderer": "tiny"})
        assert not sim.sensors
        for spec in ({"type": "lidar_3d"}, {"type": "range", "shape": "cone"}):
            sim.add_sensor(spec)
