"""Options of `fleet-sim run` and `fleet-sim replay` that name files: none is ignored, none overwrites another."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_sim.cli.main import main

SCENARIO = "simulation: {gui: false, target_rtf: 0, timestep: 0.1, duration: 1}\nrobots: [{name: r}]\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def refused(line: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the only line that a command that fails prints on standard error."""
    assert main(line) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    return error


@pytest.mark.parametrize(
    "option",
    ["--record", "--record-inputs", "--replay-inputs", "--save-state", "--from-state", "--picture", "--figures"]
    + ["--json", "--metrics"],
)
def test_an_empty_name_is_no_file(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"{option}: the name of a file is missing" in refused(["run", "s.yaml", option, ""], capsys)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--record a.mcap --save-state a.mcap", "--record and --save-state name the same file, a.mcap"),
        ("--record-inputs a.jsonl --json ./a.jsonl", "--record-inputs and --json name the same file, ./a.jsonl"),
        ("--json s.yaml", "CONFIG and --json name the same file, s.yaml"),
        ("--seeds 1-2 --host 0.0.0.0", "--host is for the page in the browser; give --view too"),
        ("--port 0", "--port is for the page in the browser; give --view too"),
        ("--record a.mcap --record-sensors=", "sensors: readings of '' cannot be recorded"),
    ],
)
def test_options_that_contradict_each_other(line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in refused(["run", "s.yaml", *line.split()], capsys)
    assert [file.name for file in Path().iterdir()] == ["s.yaml"]
    assert Path("s.yaml").read_text(encoding="utf-8") == SCENARIO


def test_a_state_that_was_not_written_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(["run", "s.yaml", "--save-state", "a.state", "--at", "5"], capsys)
    assert "--at: no state was written: the run ended at 1 s" in error and not Path("a.state").exists()


def test_a_state_is_continued_and_written_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "s.yaml", "--save-state", "a.state"]) == 0
    first = Path("a.state").read_bytes()
    assert main(["run", "--from-state", "a.state", "--save-state", "a.state"]) == 0
    assert Path("a.state").read_bytes() != first
    error = refused(["run", "--from-state", "a.state", "--record-inputs", "a.jsonl"], capsys)
    assert "--record-inputs is for runs from the beginning of a scenario" in error


def test_what_would_change_a_repeated_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "s.yaml", "--record-inputs", "a.jsonl"]) == 0
    for option in (["--engine", "mujoco"], ["--vda5050"]):
        error = refused(["run", "--replay-inputs", "a.jsonl", *option], capsys)
        assert f"{option[0]} cannot be used with --replay-inputs" in error


def test_a_repaired_recording_needs_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "s.yaml", "--record", "a.mcap"]) == 0
    assert "no file has such a name" in refused(["replay", "a.mcap", "--repair", ""], capsys)
