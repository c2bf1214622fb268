"""Options of `fleet-sim run` and `fleet-sim replay` that name files: none is ignored, none overwrites another."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_sim.apps.cli.main import main

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
    assert "the name of a file is missing" in refused(["replay", "a.mcap", "--repair", ""], capsys)
    before = Path("a.mcap").read_bytes()
    assert "it is the file that is read" in refused(["replay", "a.mcap", "--repair", "./a.mcap"], capsys)
    assert Path("a.mcap").read_bytes() == before
    assert "files that end in .mcap" in refused(["replay", "a.mcap", "--repair", "s.yaml"], capsys)
    assert Path("s.yaml").read_text(encoding="utf-8") == SCENARIO


@pytest.mark.parametrize("command", [["view", "--no-browser"], ["replay"], ["film", "--out", "f.gif"], ["check"]])
def test_commands_that_read_a_file_need_its_name(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert refused([*command, ""], capsys) == "fleet-sim: error: the name of a file is missing\n"


def test_what_a_run_has_written_is_named_with_the_command_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    written = ["--record", "a.mcap", "--record-inputs", "a.jsonl", "--save-state", "a.state"]
    assert main(["run", "s.yaml", *written]) == 0
    state, inputs = "fleet-sim run --from-state a.state", "fleet-sim run --replay-inputs a.jsonl"
    film = " --record run.mcap, and film that: fleet-sim film run.mcap --out f.gif\n"
    ends = {"run": "\n", "check": "\n", "view": " --view\n", "film --out f.gif": film}
    for command, end in ends.items():
        told = refused([*command.split(), "a.state"], capsys)
        assert told.endswith(f"a saved state, not a scenario; go on from it with: {state}{end}")
        told = refused([*command.split(), "a.jsonl"], capsys)
        assert told.endswith(f"a file of inputs, not a scenario; repeat the run with: {inputs}{end}")
    for command in ("run", "check"):
        told = refused([command, "a.mcap"], capsys)
        assert told.endswith("a.mcap: it is a recording, not a scenario; show it with: fleet-sim view a.mcap\n")
    assert "it is not a file of inputs" in refused(["run", "--replay-inputs", "a.state"], capsys)
    assert refused(["run", "--replay-inputs", "none"], capsys).endswith(
        "none: cannot be read: No such file or directory\n"
    )
    assert ".: it is a folder" in refused(["view", "."], capsys)
