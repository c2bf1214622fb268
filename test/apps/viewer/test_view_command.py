"""The options of `fleet-sim view` and `fleet-sim run --view`: where the page is, what it allows, and what is shown."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.facade.recording import LiveView
from fleet_sim.facade.runner import Pacer
from fleet_sim.facade.view import View

pytest.importorskip("viser")

PATIENCE = 60.0

SCENARIO = """
simulation: {timestep: 0.05, duration: 0.2, seed: 1}
robots: [{name: bot, shape: {shape_type: box, half_extents: [0.3, 0.2, 0.1]}}]
"""


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a run found as it began: its settings, and the page, which it fetched."""
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}

    def run(sim: fs.MultiRobotSimulationCore, duration: float | None = None) -> None:
        found.update(seed=sim.params.seed, rtf=sim.params.target_rtf, paused=sim.is_paused, end=sim.params.duration)

    monkeypatch.setattr(fs.MultiRobotSimulationCore, "run_simulation", run)
    return found


def address(printed: str) -> str:
    match = re.search(r"view: (http://\S+)", printed)
    assert match, printed
    return match[1]


def test_what_is_shown_is_as_the_options_say(shown: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    page = ["view", "s.yaml", "--port", "0", "--no-browser"]
    assert main(page) == 0
    assert shown == {"seed": 1, "rtf": 1.0, "paused": False, "end": 0.0}
    assert address(capsys.readouterr().out).startswith("http://127.0.0.1:")
    assert main([*page, "--seed", "7", "--rtf", "4", "--paused"]) == 0
    assert shown == {"seed": 7, "rtf": 4.0, "paused": True, "end": 0.0}
    assert main([*page, "--set", "simulation.seed=9"]) == 0
    assert shown["seed"] == 9


def test_the_page_is_where_the_options_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    pages: list[str] = []

    def run(sim: fs.MultiRobotSimulationCore, duration: float | None = None) -> None:
        with urlopen(address(capsys.readouterr().out)) as page:
            pages.append(page.url)
            assert page.status == 200

    monkeypatch.setattr(fs.MultiRobotSimulationCore, "run_simulation", run)
    view = ["view", "s.yaml", "--port", "0", "--no-browser", "--read-only"]
    assert main(view) == 0
    assert main([*view, "--host", "127.0.0.2"]) == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", pages[0])
    assert re.fullmatch(r"http://127\.0\.0\.2:\d+/\S{16,}/?", pages[1]), "elsewhere the address has a secret"


@pytest.mark.parametrize("option", [["--host", "127.0.0.2"], ["--port", "8123"], ["--read-only"], ["--no-browser"]])
def test_options_of_a_page_need_one(
    option: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "s.yaml", *option]) == 1
    assert f"{option[0]} is for the page in the browser; give --view too" in capsys.readouterr().err


def test_a_run_that_is_watched_ends_as_it_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    hashes = []
    for watched in ([], ["--view", "--port", "0", "--no-browser"]):
        assert main(["run", "s.yaml", "--rtf", "0", "--hash", *watched]) == 0
        printed = capsys.readouterr().out
        assert ("view: http" in printed) == bool(watched)
        hashes.append(re.search(r"state hash: (\w+)", printed)[1])  # type: ignore[index]
    assert hashes[0] == hashes[1]


def test_a_repeated_run_is_watched_in_real_time_and_nobody_can_act(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "s.yaml", "--rtf", "0", "--hash", "--record-inputs", "i.jsonl"]) == 0
    wanted = capsys.readouterr().out.splitlines()[-2:]
    pages: list[dict[str, Any]] = []
    waits: list[float] = []
    show = View.show

    def shown(view: View, **settings: Any) -> LiveView:
        pages.append(settings)
        return show(view, **settings)

    def wait_for(pacer: Pacer, sim_time: float, rtf: float) -> float:
        waits.append(rtf)
        return 0.0

    monkeypatch.setattr(View, "show", shown)
    monkeypatch.setattr(Pacer, "wait_for", wait_for)
    replay = ["run", "--replay-inputs", "i.jsonl"]
    for option, rtf in (([], 1.0), (["--rtf", "3"], 3.0)):
        waits.clear()
        assert main([*replay, "--hash", "--view", "--port", "0", "--no-browser", *option]) == 0
        assert waits == [rtf] * 4, "before each step"
        assert capsys.readouterr().out.splitlines()[-1] == wanted[0]
    assert [settings["read_only"] for settings in pages] == [True, True]
    assert main([*replay, "--rtf", "3"]) == 1
    assert "--rtf cannot be used with --replay-inputs" in capsys.readouterr().err


def test_a_recording_that_was_cut_off_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcap")
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "s.yaml", "--rtf", "0", "--record", "r.mcap"]) == 0
    # As after kill -9: the index at the end was never written, and the file was not renamed.
    (tmp_path / "k.mcap.part").write_bytes((tmp_path / "r.mcap").read_bytes()[:-40])
    command = [sys.executable, "-m", "fleet_sim.apps.cli.main", "view", "k.mcap.part", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            with urlopen(address(process.stdout.readline())) as page:
                assert page.status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--rtf", "nan"], "--rtf: expected 0, or a number from 1e-06 to 1e+06, got nan"),
        (["--seed", "3"], "--seed and --set are for a simulation"),
        (["--set", "simulation.seed=3"], "--seed and --set are for a simulation"),
    ],
)
def test_what_a_recording_cannot_be_shown_with_is_refused(
    options: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["view", "r.mcap", "--port", "0", "--no-browser", *options]) == 1
    assert reason in capsys.readouterr().err


def test_a_missing_recording_is_told_with_what_is_left_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mcap")
    monkeypatch.chdir(tmp_path)
    for command in (["replay"], ["view", "--no-browser"], ["film", "--out", "f.gif"]):
        (tmp_path / "k.mcap.part").unlink(missing_ok=True)
        assert main([*command, "k.mcap"]) == 1
        assert ".part" not in capsys.readouterr().err
        (tmp_path / "k.mcap.part").touch()
        assert main([*command, "k.mcap"]) == 1
        assert "there is k.mcap.part, of a run that did not end" in capsys.readouterr().err


def test_a_saved_state_is_refused_with_the_command_that_goes_on_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "s.yaml", "--rtf", "0", "--save-state", "s.state"]) == 0
    assert main(["view", "s.state", "--port", "0", "--no-browser"]) == 1
    assert "fleet-sim run --from-state s.state --view" in capsys.readouterr().err
