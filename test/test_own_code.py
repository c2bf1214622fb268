"""Code of users that scenarios name by dotted path: the templates of docs/own_code.md, as its reader uses them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pages import blocks

import fleet_sim as fs
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.files import remote_input

PAGE = Path(__file__).parents[1] / "docs/own_code.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's module and scenario, as its reader has it."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "mine.py").write_text("\n\n".join(blocks(PAGE, "python")), encoding="utf-8")
    (folder / "mine.yaml").write_text("\n".join(blocks(PAGE, "yaml")), encoding="utf-8")
    return folder


@pytest.fixture
def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(folder))
    return folder


def fleet_sim(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fleet_sim.apps.cli.main", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_command_runs_and_checks_them(folder: Path) -> None:
    checked = fleet_sim(folder, "check", "mine.yaml")
    assert checked.returncode == 0, checked.stderr
    done = fleet_sim(folder, "run", "mine.yaml", "--headless")
    assert done.returncode == 0, done.stderr
    said = [line.rsplit(maxsplit=1) for line in done.stdout.splitlines() if " moving " in line]
    assert [count for _, count in said] == ["3", "1", "1", "1"], done.stdout


def test_each_of_them_acts(on_path: Path) -> None:
    with fs.MultiRobotSimulationCore.from_yaml(on_path / "mine.yaml") as sim:
        circler, spinner, shuttle = sim.agents
        sim.run_simulation(duration=1.5)
        assert spinner.get_pose().yaw == pytest.approx(1.0, abs=0.06)
        assert shuttle.get_pose().position[:2] == pytest.approx((9.0, 0.5))
        sim.run_simulation(duration=2.5)
        assert shuttle.get_pose().position == (9.0, 1.0, 0.1)
        (odometer,) = circler.plugins
        assert odometer.meters == pytest.approx(4.0, rel=0.05)  # type: ignore[attr-defined]
        heading = circler.sensors[0].read().heading
        assert heading == pytest.approx(circler.get_pose().yaw - 1.57, abs=0.1)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (("mine:Circles", "mine:Squares"), "robots.0.*mine:Squares"),
        (("mine:Spin", "mine:Odometer"), "actions.*Action"),
        (("mine:RAIL", "mine:Rail"), "shuttle: motion law"),
        (("mine:Odometer", "nowhere:Odometer"), "agent plugin.*nowhere"),
        (("mine:Compass", "mine:CompassParams"), "sensors.0..type"),
        (("mine:Announcer", "mine:Odometer"), "plugins.0..type.*SimHooks"),
        (('["mine:watch"]', '[{type: "mine:watch", word: x}]'), "callbacks.0..word"),
        (("duration: 1.0}", "duration: -1.0}"), "duration"),
    ],
)
def test_wrong_code_is_refused_where_it_is_named(on_path: Path, change: tuple[str, str], where: str) -> None:
    text = (on_path / "mine.yaml").read_text(encoding="utf-8")
    assert change[0] in text
    wrong = on_path / "wrong.yaml"
    wrong.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises((ConfigError, InvalidValueError), match=where):
        fs.MultiRobotSimulationCore.from_yaml(wrong).close()


def test_messages_may_name_what_the_user_named_and_import_nothing(on_path: Path) -> None:
    (on_path / "unnamed.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    fs.parse_action_goal("mine:Spin", {"duration": 1.0})
    with remote_input():
        assert fs.parse_action_goal("mine:Spin", {"duration": 2.0}).duration == 2.0  # type: ignore[attr-defined]
        for path in ("unnamed:Action", "mine:Wait", "os.system"):
            with pytest.raises(InvalidValueError, match="may not import"):
                fs.parse_action_goal(path, {})
