"""Frames of sensors beside those of the links of their robot: a tree, whatever the names are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.models.kinematics.tree import FrameLink, base_frame, fixed_links, moving_links
from fleet_sim.sensing.sensors.sensor import frame_links, frame_of, optical_frame_of, owner_of
from fleet_sim.world.names import Frames

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
