"""What recordings are made and read with: frames, rates, times and names of files, of which none is taken silently."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fleet_sim as fs

pytest.importorskip("mcap")
pytest.importorskip("rosbags")

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from fleet_sim.apps.record.film import FilmFile
from fleet_sim.apps.record.mcap_file import McapFile
from fleet_sim.apps.record.recording import Recording
from fleet_sim.facade.recording import InputRecorder, RecordedInputs

SCENARIO = {
    "simulation": {"gui": False, "timestep": 0.05, "target_rtf": 0},
    "robots": [{"name": "cart", "shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]}}],
}


def test_names_that_ros_rejects_are_refused(tmp_path: Path) -> None:
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        for frame in ("", "/map", "map\n", "m" * 246, 3):
            with pytest.raises(fs.ConfigError, match="map_frame: must be the name of a frame"):
                sim.record(tmp_path / "run.mcap", map_frame=frame)
        for namespace in ("a b", "/a/", "//", "/1a", "/a\n", "/" + "a" * 246, None):
            with pytest.raises(fs.ConfigError, match="namespace: must be a namespace of ROS 2, such as /fleet"):
                sim.record(tmp_path / "run.mcap", namespace=namespace)
    assert not list(tmp_path.iterdir())


def test_frames_are_named_as_the_settings_say(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    for namespace, prefix in (("/", ""), ("", ""), ("hall", "hall/"), ("/site/hall", "site/hall/")):
        with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
            sim.record(path, map_frame="earth", namespace=namespace).close()
        with path.open("rb") as stream:
            reader = make_reader(stream, decoder_factories=[DecoderFactory()])
            tf = next(reader.iter_decoded_messages(["/tf_static"])).decoded_message.transforms
        assert (tf[0].header.frame_id, tf[0].child_frame_id) == ("earth", f"{prefix}cart/odom")


def test_a_rate_above_that_of_the_steps_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "run.mcap"
    for settings in ({}, {"rate": None}, {"rate": 20.0}, {"rate": 1e9}):
        assert not caplog.messages
        with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim, sim.record(path, **settings):
            sim.run_simulation(1.0)
    assert caplog.messages == [
        "record: rate: 1e+09 Hz is more than the 20 steps per second; each step is recorded, once"
    ]
    with Recording(path) as recording:
        assert len(recording.times) == 21


def test_recordings_of_other_programs_and_versions_are_named(tmp_path: Path) -> None:
    about = {"format": "fleet_sim recording 1", "version": "0.0.1"}
    for name, values, words in (
        ("other", {}, "no recording of fleet_sim"),
        ("fleet_sim", about, "made by fleet_sim 0.0.1"),
    ):
        file = McapFile(tmp_path / f"{name}.mcap")
        file.describe(name, values)
        file.finish()
        with pytest.raises(fs.InvalidValueError, match=words):
            Recording(tmp_path / f"{name}.mcap")


def test_what_is_no_time_and_a_closed_recording_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        sim.record(path).close()
    with Recording(path) as recording:
        for time in (float("nan"), float("inf"), "1", None, True):
            with pytest.raises(fs.InvalidValueError, match="time in s: expected"):
                recording.snapshot_at(time)  # type: ignore[arg-type]
        recording.snapshot_at(1)
    with pytest.raises(fs.StateError, match="was closed"):
        recording.snapshot_at(1)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (5, "got 5"),
        (b"run.mcap", "got b'run.mcap'"),
        ("", "is missing"),
        ("a\0b", "no file has"),
        ("\ud800", "no file"),
    ],
)
def test_what_names_no_file_is_refused_in_the_same_words(path: Any, words: str) -> None:
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        calls: list[Callable[[Any], object]] = [
            sim.record,
            Recording,
            RecordedInputs.load,
            partial(InputRecorder, sim),
            sim.load_state,
        ]
        calls += [sim.save_state, fs.MultiRobotSimulationCore.from_yaml]
        calls.append(partial(FilmFile, width=16, height=16, fps=10.0))
        for call in calls:
            with pytest.raises(fs.FleetSimError, match=words):
                call(path)
