"""Plans in recordings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fleet_sim as fs

pytest.importorskip("mcap")
pytest.importorskip("rosbags")

from fleet_sim.record.recording import Recording


def test_paths_of_all_lengths_are_those_of_their_robots(tmp_path: Path) -> None:
    shape = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]}
    robots = [{"name": f"cart_{number}", "pose": [0, 2 * number, 0.1], "shape": shape} for number in range(7)]
    scenario = {"simulation": {"gui": False, "timestep": 0.05, "target_rtf": 0}, "robots": robots}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim, sim.record(tmp_path / "run.mcap"):
        # Two robots each with one to three waypoints, in turns; one without a path.
        for number in range(6):
            corners = [fs.Pose((5.0 + corner, 2.0 * number, 0.1)) for corner in range(1 + number % 3)]
            sim.get_object(f"cart_{number}").set_path(corners)
        sim.run_simulation(1.0)
        true = sim.snapshots.take()
    with Recording(tmp_path / "run.mcap") as recording:
        read = recording.snapshot_at(1.0)
    np.testing.assert_array_equal(read.path_starts, [0, 1, 3, 6, 7, 9, 12, 12])
    for name in ("path_starts", "path_positions", "path_orientations"):
        np.testing.assert_array_equal(getattr(read, name), getattr(true, name), err_msg=name)
