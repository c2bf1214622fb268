"""The markers that the node publishes: what they show, and which are sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from node_program import THREE_ROBOTS, Running, SharedNode, drive, running, shared_node
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

import fleet_sim
from fleet_sim import MultiRobotSimulationCore


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), scenario=THREE_ROBOTS) as node:
        yield node


@pytest.fixture
def alone(node: SharedNode) -> None:
    """For tests that start a node of their own: two would be heard together."""
    node.close()


@pytest.fixture
def fleet(node: SharedNode) -> Iterator[Running]:
    with node.visited() as both:
        yield both


def viewed(arrays: list[MarkerArray]) -> list[Marker]:
    """Return the markers as a viewer keeps them, in the order in which they came first."""
    kept: dict[tuple[str, int], Marker] = {}
    for marker in (marker for array in arrays for marker in array.markers):
        if marker.action == Marker.DELETEALL:
            kept.clear()
        else:
            kept[marker.ns, marker.id] = marker
    return list(kept.values())


def test_markers_are_sent_of_what_moves_and_all_to_who_comes_later(fleet: Running) -> None:
    _, client = fleet
    arrays = client.listen(MarkerArray, "/fleet/markers")
    client.until(lambda: len(viewed(arrays)) == 4, "all markers")
    complete = len(arrays)
    drive(client, "amr_1", 0.2)
    client.until(lambda: viewed(arrays)[1].pose.position.x > 0.5, "a marker that moves")
    moving = [array.markers for array in arrays[complete:] if len(array.markers) != 4]
    assert {tuple((one.ns, one.type, one.pose.position.y) for one in markers) for markers in moving} == {
        (("robots", Marker.CUBE, 3.0),)
    }
    later = client.listen(MarkerArray, "/fleet/markers")
    client.until(lambda: len(viewed(later)) == 4, "all markers for who comes later")
    # From time to time all are sent again, so that nothing stays wrong that was lost.
    drive(client, "amr_1", 0.0)
    until = len(arrays)
    client.until(lambda: any(len(array.markers) == 4 for array in arrays[until:]), "all markers again")
    assert [marker.pose.position.x > 0.5 for marker in viewed(arrays)] == [False, True, False, True]


def test_markers_of_a_robot_with_joints_are_its_links_where_they_are(tmp_path: Path, alone: None) -> None:
    # Its links are meshes.
    pytest.importorskip("pybullet_data")
    scenario = """
simulation: {timestep: 0.05, target_rtf: 5.0, gui: false}
robots:
  - {name: arm, urdf_path: arm6, use_fixed_base: true}
  - {name: panda, urdf_path: panda, pose: [3, 0, 0], use_fixed_base: true}
"""
    (tmp_path / "arms.yaml").write_text(scenario)
    with running(tmp_path / "node.log", "-p", f"config:={tmp_path / 'arms.yaml'}") as (_, client):
        arrays = client.listen(MarkerArray, "/fleet/markers")
        with MultiRobotSimulationCore.from_yaml(tmp_path / "arms.yaml") as sim:
            models = [robot.robot_model for robot in sim.agents]
            rows = [robot.row for robot in sim.agents for _ in robot.robot_model.visuals]
            links = [part.link for model in models for part in model.visuals]
            poses = sim.world.link_poses(np.array(rows), np.array(links))
        parts = [part.geometry for model in models for part in model.visuals]
        client.until(lambda: arrays and len(arrays[-1].markers) == len(parts), "markers")
        for marker, part, place, turn in zip(arrays[-1].markers, parts, *poses, strict=True):
            at = fleet_sim.Pose(place.tolist(), turn.tolist()) * fleet_sim.Pose(part.position, part.orientation)
            position = marker.pose.position
            assert (position.x, position.y, position.z) == pytest.approx(at.position, abs=1e-6)
            if marker.type == Marker.MESH_RESOURCE:
                assert marker.mesh_resource == Path(part.mesh_path).resolve().as_uri()
        assert {marker.type for marker in arrays[-1].markers} >= {Marker.CYLINDER, Marker.MESH_RESOURCE}
        # One link of the arm turns, and its markers with it.
        before = [marker.pose.position for marker in arrays[-1].markers]
        client.publisher(JointState, "/arm/joint_commands").publish(JointState(name=["joint_2"], position=[0.6]))
        moved = lambda: [m.pose.position != at for m, at in zip(viewed(arrays), before, strict=True)]  # noqa: E731
        client.until(lambda: any(moved()), "markers that move")
        assert not moved()[0] and not any(moved()[len(models[0].visuals) :])
