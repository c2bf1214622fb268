"""Paths of robots in the traffic, as views, recordings and ROS read them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from crowds import Crowd
from networks import HALL, site_of

import fleet_sim as fs
from fleet_sim.world.snapshot import NEAR, paths_ahead, recorded_paths_ahead
from fleet_sim.world.waypoints import EntityPaths


def paths_of(crowd: Crowd) -> EntityPaths:
    paths = crowd.traffic.planned.paths_of(crowd.traffic.rows)
    assert not any(array.flags.writeable for array in paths)
    return paths


def test_a_planned_path_is_where_the_robot_drives_corner_by_corner() -> None:
    crowd = Crowd(site_of(HALL), 1, at=np.array([(0.5, 0.5), (0.5, 0.5)]), window=40)
    traffic, agent = crowd.traffic, crowd.agents[0]
    assert paths_of(crowd).lengths.tolist() == [0]
    traffic.send(agent, (9.5, 5.5), heading=0.0)
    crowd.run(0.1)
    planned = paths_of(crowd)
    assert planned.lengths.tolist() == [len(planned.positions)] and planned.nexts.tolist() == [0]
    assert planned.positions[-1].tolist() == [9.5, 5.5, 0.15]
    # Each line is along an axis, and at each corner it turns: there is no corner too many.
    ways = np.diff(np.vstack(([0.5, 0.5, 0.15], planned.positions)), axis=0)[:, :2]
    assert (np.count_nonzero(np.abs(ways) > 1e-9, axis=1) == 1).all()
    assert (np.abs((ways[1:] * ways[:-1]).sum(axis=1)) < 1e-9).all()
    assert fs.Pose(tuple(planned.positions[-1]), tuple(planned.orientations[-1])).yaw == pytest.approx(0.0)
    while not traffic.has_arrived(agent):
        now = paths_of(crowd)
        ahead = now.positions[int(now.nexts[0]) :]
        if len(ahead):
            # Whatever was planned anew on the way, it is on the line to the corner that comes next.
            assert np.abs(ahead[0] - agent.get_pose().position)[:2].min() < 1e-6
            assert ahead[-1].tolist() == [9.5, 5.5, 0.15]
        crowd.run(0.1)
    assert paths_of(crowd).lengths.tolist() == [0]


def test_snapshots_have_paths_of_the_traffic_beside_those_of_others() -> None:
    crowd = Crowd(site_of(HALL), 6, seed=2)
    crowd.traffic.leave(crowd.agents[2])
    crowd.agents[2].set_goal_pose(fs.Pose((5.0, 0.5, 0.15)))
    rows = crowd.traffic.rows
    crowd.traffic.send_rows(rows, crowd.traffic.nodes(rows)[::-1])
    crowd.sim.run_simulation(1.0)
    snapshot, own = crowd.sim.snapshots.take(), paths_of(crowd)
    found = {
        name: snapshot.path_positions[snapshot.path_starts[index] : snapshot.path_starts[index + 1]]
        for index, name in enumerate(snapshot.names)
    }
    assert found["amr_2"].tolist() == [[5.0, 0.5, 0.15]]
    ends = np.cumsum(own.lengths)
    for number, name in enumerate(agent.name for agent in crowd.traffic.robots):
        assert name is not None
        assert np.array_equal(found[name], own.positions[ends[number] - own.lengths[number] : ends[number]])
    assert own.lengths.any()
    assert sum(map(len, found.values())) == len(own.positions) + 1
    # As it was saved, whatever was planned since.
    saved = crowd.sim.save_state()
    crowd.sim.run_simulation(3.0)
    crowd.sim.restore_state(saved)
    again = crowd.sim.snapshots.take()
    assert np.array_equal(again.path_positions, snapshot.path_positions)
    crowd.sim.clear()
    assert not crowd.sim.world.waypoints.sources


def test_a_recording_has_the_planned_paths(tmp_path: Path) -> None:
    pytest.importorskip("mcap")
    from fleet_sim.apps.record.recording import Recording

    crowd = Crowd(site_of(HALL), 6, seed=4)
    rows = crowd.traffic.rows
    crowd.traffic.send_rows(rows, crowd.traffic.nodes(rows)[::-1])
    seen = []
    with crowd.sim, crowd.sim.record(tmp_path / "run.mcap", rate=None):
        for _ in range(6):
            # Paths are looked at twice a second.
            crowd.run(0.5)
            seen.append((crowd.sim.snapshots.take(), paths_ahead(crowd.sim.world)))
    with Recording(tmp_path / "run.mcap") as recording:
        for snapshot, ahead in seen:
            recorded = recording.snapshot_at(snapshot.time)
            assert np.array_equal(recorded.path_starts, snapshot.path_starts)
            assert np.array_equal(recorded.path_positions, snapshot.path_positions)
            assert np.array_equal(recorded.path_orientations, snapshot.path_orientations)
            # How far robots have come is seen by where they are, up to the line that leads to the first corner.
            played = recorded_paths_ahead(recorded)
            assert np.array_equal(np.unique(played.robots), np.unique(ahead.robots))
            for robot in np.unique(ahead.robots).tolist():
                live, shown = (paths.lines[paths.robots == robot] for paths in (ahead, played))
                assert np.array_equal(live[-1, 1], shown[-1, 1])
                lengths = [np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1).sum() for lines in (live, shown)]
                assert lengths[0] == pytest.approx(lengths[1], abs=2.0 * NEAR)
    assert any(len(ahead.lines) for _, ahead in seen)
