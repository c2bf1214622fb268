"""Inputs of a run: recorded, repeated without those who sent them, refused where that cannot be."""

from __future__ import annotations

import json
import logging
import os
import random
from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.facade.recording import InputRecorder, RecordedInputs

SCENARIO = {
    "simulation": {"gui": False, "timestep": 0.05, "target_rtf": 0, "seed": 5},
    "robots": [{"name": "r", "pose": [0, 0, 0.1], "grid": {"count": 3, "spacing": [2, 0, 0]}}],
}


def drive(sim: fs.MultiRobotSimulationCore) -> None:
    """Send commands inside of steps, between steps, back in time, and wrong ones."""
    put = sim.inbox.put
    put(fs.Navigate(names=("r_0", "nobody"), positions=[[3, 1, 0.1]] * 2, orientations=[[0, 0, 0, 1]] * 2))
    for _ in range(10):
        sim.step_once()
    put(fs.SaveState(name="early"))
    put(fs.ExecuteAction(names=("r_1",), actions=(fs.MoveTo(fs.Pose((5.0, 5.0, 0.1))),)))
    put(fs.Spawn(objects=({"name": "crate", "pose": [9, 9, 0.1]},)))
    for _ in range(10):
        sim.step_once()
    put(fs.RestoreState(name="early"))
    sim.step_once()
    put(fs.Stop(names=("r_0",)))
    put(fs.RestoreState(name="never saved"))
    for _ in range(7):
        sim.step_once()


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, str]:
    path = tmp_path / "inputs.jsonl"
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        with InputRecorder(sim, path):
            drive(sim)
        return path, sim.state_hash()


def test_a_run_is_repeated_bit_for_bit(recorded: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    path, wanted = recorded
    assert not path.with_name("inputs.jsonl.part").exists()
    assert main(["run", "--replay-inputs", str(path), "--hash"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"state hash: {wanted}"
    assert main(["run", "--replay-inputs", str(path), "--seed", "3"]) == 1
    assert "--seed cannot be used with --replay-inputs" in capsys.readouterr().err


def test_a_run_without_clients_is_recorded_and_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "inputs.jsonl"
    run = ["run", "demo.yaml", "--headless", "--duration", "2", "--seed", "9", "--hash", "--record-inputs", str(path)]
    assert main(run) == 0
    first = [line for line in capsys.readouterr().out.splitlines() if "hash" in line]
    assert main(["run", "--replay-inputs", str(path), "--hash"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "hash" in line] == first
    assert main(["run", "--headless"]) == 1
    assert "CONFIG is missing" in capsys.readouterr().err


def test_what_was_cut_off_is_repeated_as_far_as_it_goes(recorded: tuple[Path, str]) -> None:
    path, _ = recorded
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:3]) + lines[3][:20], encoding="utf-8")
    inputs = RecordedInputs.load(path)
    assert (len(inputs.entries), inputs.end) == (2, None)
    with fs.MultiRobotSimulationCore.from_dict(inputs.scenario) as sim:
        inputs.replay(sim)
        assert sim.step_count == 10


def test_another_run_is_noticed(recorded: tuple[Path, str]) -> None:
    path, _ = recorded
    inputs = RecordedInputs.load(path)
    other = {**SCENARIO, "objects": [{"name": "more"}]}
    with fs.MultiRobotSimulationCore.from_dict(other) as sim, pytest.raises(fs.StateError, match="another world"):
        inputs.replay(sim)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"stop"' not in line), encoding="utf-8")
    inputs = RecordedInputs.load(path)
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim, pytest.raises(fs.StateError, match="another state"):
        inputs.replay(sim)


def test_inputs_of_a_run_that_was_killed_are_not_written_over(tmp_path: Path) -> None:
    path, part = tmp_path / "inputs.jsonl", tmp_path / "inputs.jsonl.part"
    part.write_text("left", encoding="utf-8")
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim, pytest.raises(fs.InvalidValueError, match="is there"):
        InputRecorder(sim, path)
    assert part.read_text(encoding="utf-8") == "left"


def test_what_cannot_be_recorded_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "inputs.jsonl"
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        recorder = InputRecorder(sim, path)
        sim.inbox.put(fs.Stop())
        sim.inbox.put(fs.Call(function=lambda sim: None))
        with caplog.at_level(logging.ERROR):
            for _ in range(2):
                sim.step_once()
        assert "Call of step 0" in caplog.text
        with pytest.raises(fs.InvalidValueError, match="Call"):
            recorder.close()
        assert not path.exists()
        with pytest.raises(fs.StateError, match="at step 2"):
            InputRecorder(sim, path)
    params = fs.SimulationParams(gui=False)
    with fs.MultiRobotSimulationCore(params) as sim, pytest.raises(fs.StateError, match="made in Python"):
        InputRecorder(sim, path)


def test_a_state_from_a_file_ends_the_recording_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        recorder = InputRecorder(sim, path)
        sim.step_once()
        sim.save_state(tmp_path / "now.state")
        sim.inbox.put(fs.Stop())
        sim.step_once()
        sim.load_state(tmp_path / "now.state")
        with pytest.raises(fs.StateError, match="a state was loaded from a file"):
            recorder.close()
    assert not path.exists()
    # Up to there it is repeated as one that was cut off.
    assert len(RecordedInputs.load(f"{path}.part").entries) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1]", "expected a mapping"),
        ("{", "not JSON"),
        (json.dumps({"tick": -1, "in_step": True, "command": {"type": "stop"}}), "a step from 0 on"),
        (json.dumps({"tick": 1, "in_step": 1, "command": {"type": "stop"}}), "a command and its step"),
        (json.dumps({"tick": 1, "in_step": True, "command": {"type": "halt"}}), "halt"),
    ],
)
def test_a_wrong_line_is_named(recorded: tuple[Path, str], line: str, reason: str) -> None:
    path, _ = recorded
    head = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    del head["crc"]
    first = json.dumps(head)
    path.write_text(f"{first}\n{line}\n", encoding="utf-8")
    with pytest.raises(fs.ConfigError, match=reason) as caught:
        RecordedInputs.load(path)
    assert "line 2" in str(caught.value)


@pytest.mark.parametrize("share", [0.1, pytest.param(1.0, marks=pytest.mark.slow)])
def test_a_changed_bit_is_refused_or_said(
    recorded: tuple[Path, str], share: float, caplog: pytest.LogCaptureFixture
) -> None:
    path, _ = recorded
    data, wanted = path.read_bytes(), RecordedInputs.load(path)
    silent = []
    every = range(8 * len(data))
    for bit in random.Random(7).sample(every, int(share * len(every))):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        caplog.clear()
        try:
            found = RecordedInputs.load(path)
        except fs.ConfigError:
            continue
        # The last line without its end is one that was cut off.
        if found != wanted and "it was cut off" not in caplog.text:
            silent.append(bit)
    assert silent == []


def test_inputs_on_a_full_disk_leave_no_file_and_the_run_goes_on(tmp_path: Path) -> None:
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        recorder = InputRecorder(sim, tmp_path / "inputs.jsonl")
        assert recorder._stream is not None
        recorder._stream.close()
        recorder._stream = os.fdopen(os.open("/dev/full", os.O_WRONLY), "w")
        sim.inbox.put(fs.Stop())
        for _ in range(2):
            sim.step_once()
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(fs.InvalidValueError, match="No space left"):
            recorder.close()
