"""The files that `fleet-sim run --json` and `--metrics` write."""

from __future__ import annotations

import csv
import importlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from command_line import fleet_sim_command

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.apps.cli.summary import RunSummary
from fleet_sim.base.kernels import compile_seconds
from fleet_sim.warehouse.traffic.figures_file import read_run

FLEET = """
simulation: {gui: false, target_rtf: 0, timestep: 0.05, duration: 10, ignore_static_collision: false}
objects:
  - {name: wall, pose: [0, 5, 0.5], collision_mode: static,
     collision_shape: {shape_type: box, half_extents: [0.1, 1, 0.5]}}
robots:
  - {name: drives, urdf_path: diff_base, pose: [0, 0, 0], actions: [{type: move_to, target_pose: [2, 0, 0]}]}
  - {name: rests, urdf_path: diff_base, pose: [0, -5, 0]}
  - {name: hits, urdf_path: diff_base, pose: [-1, 5, 0], actions: [{type: move_to, target_pose: [0.6, 5, 0]}]}
  - {name: stuck, urdf_path: diff_base, pose: [-4, 5, 0], block_on_collision: true,
     actions: [{type: move_to, target_pose: [9, 5, 0]}]}
"""


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet.yaml").write_text(FLEET)
    return "fleet.yaml"


def test_files_have_the_run_and_each_robot(scenario: str) -> None:
    assert (
        main(
            [
                "run",
                scenario,
                "--lenient",
                "--json",
                "a.json",
                "--metrics",
                "a.csv",
                "--hash",
                "--set",
                "simulation.seed=4",
            ]
        )
        == 0
    )
    told = json.loads(Path("a.json").read_text())
    assert (told["scenario"], told["settings"]) == (scenario, ["simulation.seed=4"])
    (run,) = told["runs"]
    assert run["seed"] == 4
    assert run["simulated_s"] == pytest.approx(10.0)
    assert run["steps"] == 200
    assert run["static_collisions"] == sum(line["collisions"] for line in run["robots"])
    assert len(run["state_hash"]) > 8
    robots = {line["robot"]: line for line in run["robots"]}
    assert robots["drives"]["goals"] == robots["drives"]["actions_completed"] == 1
    assert robots["drives"]["distance_m"] == pytest.approx(2.0, abs=0.02)
    assert robots["drives"]["waiting_s"] < 0.2
    assert (robots["rests"]["goals"], robots["rests"]["distance_m"], robots["rests"]["waiting_s"]) == (0, 0.0, 0.0)
    assert robots["hits"]["collisions"] >= 1
    assert robots["stuck"]["busy"]
    assert robots["stuck"]["waiting_s"] > 2.0
    assert run["goals"] == sum(line["goals"] for line in run["robots"])
    with Path("a.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [line["robot"] for line in table] == list(robots)
    assert float(table[0]["distance_m"]) == robots["drives"]["distance_m"]


def test_several_seeds_are_in_one_file(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", scenario, "--seeds", "1,2", "--duration", "1", "--json", "a.json", "--metrics", "a.parquet"]
    pytest.importorskip("pyarrow")
    assert main(command) == 0
    from pyarrow import parquet

    assert [run["seed"] for run in json.loads(Path("a.json").read_text())["runs"]] == [1, 2]
    assert parquet.read_table("a.parquet").column("seed").to_pylist() == [1] * 4 + [2] * 4
    assert "json: a.json\nmetrics: a.parquet\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "file", "reason"),
    [("--metrics", "a.txt", "must end in .csv or .parquet"), ("--json", "none/a.json", "there is no folder 'none'")],
)
def test_files_that_cannot_be_written_are_refused_before_the_run(
    scenario: str, option: str, file: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", scenario, option, file]) == 1
    captured = capsys.readouterr()
    assert reason in captured.err
    assert captured.out == ""


def test_robots_in_traffic_have_goals_distance_and_waiting(scenario: str) -> None:
    del scenario
    command = ["run", "sites/warehouse.yaml", "--headless", "--rtf", "0", "--duration", "20", "--json", "a.json"]
    assert main(command) == 0
    (run,) = json.loads(Path("a.json").read_text())["runs"]
    assert run["goals"] > 0
    assert run["distance_m"] > 100.0
    assert run["waiting_s"] > 0.0


# ---- What `fleet-sim run` says at the end of a run -------------------------------------------------------------------


WALL = """
simulation: {gui: false, target_rtf: 0, timestep: 0.05, duration: 8}
objects:
  - name: wall
    pose: [3, 0, 0.5]
    collision_mode: static
    collision_shape: {shape_type: box, half_extents: [0.1, 2, 0.5]}
robots:
  - {name: through, urdf_path: diff_base, pose: [0, 0, 0], actions: [{type: move_to, target_pose: [6, 0, 0]}]}
"""


@pytest.fixture
def scenario_summary(tmp_path: Path) -> Path:
    path = tmp_path / "wall.yaml"
    path.write_text(WALL)
    return path


def test_collisions_with_walls_are_counted_apart_or_said_not_to_be(scenario_summary: Path) -> None:
    out = fleet_sim_command("run", str(scenario_summary)).stdout
    assert "0 collisions; those with walls and other static bodies are not counted (ignore_static_collision)" in out
    assert "inside static bodies: through; with block_on_collision robots stop in front of them\n" in out
    out = fleet_sim_command("run", str(scenario_summary), "--set", "simulation.ignore_static_collision=false").stdout
    assert "1 collision, 1 of them with walls and other static bodies" in out
    assert "inside static" not in out
    out = fleet_sim_command("run", str(scenario_summary), "--set", "simulation.block_on_collision=true").stdout
    assert "inside static" not in out


@pytest.mark.parametrize("ignored", [True, False])
def test_a_robot_that_stands_in_a_wall_is_no_success(
    scenario_summary: Path, ignored: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    text = WALL.replace(", actions: [{type: move_to, target_pose: [6, 0, 0]}]", "").replace(
        "pose: [0, 0", "pose: [3, 0"
    )
    scenario_summary.write_text(text.replace("timestep", f"ignore_static_collision: {str(ignored).lower()}, timestep"))
    assert main(["run", str(scenario_summary), "--duration", "1"]) == 1
    out = capsys.readouterr().out
    assert "inside static bodies: through;" in out
    assert "failed: 1 robot inside static bodies\n" in out


def test_robots_that_did_not_arrive_are_named(scenario_summary: Path) -> None:
    out = fleet_sim_command("run", str(scenario_summary), "--duration", "1").stdout
    assert out.startswith("1 robot, 20 steps, 1.00 s simulated in ")
    assert "still busy at the end: through\n" in out
    out = fleet_sim_command("run", str(scenario_summary), "--duration", "8").stdout
    assert "actions: 1 completed\n" in out
    assert "busy" not in out


def test_compiling_does_not_count_as_stepping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    source = "from fleet_sim.base.kernels import compiled\n\n\n@compiled\ndef plus(a, b):\n    return a + b\n"
    (tmp_path / "kernel_of_a_user.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    # Nothing is kept of an earlier run.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plus = importlib.import_module("kernel_of_a_user").plus
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, timestep=0.5, target_rtf=0)) as sim:
        sim.spawn(fs.AgentSpawnParams())
        summary = RunSummary(sim)
        before = compile_seconds()
        assert plus(1, 2) == 3
        sim.run_simulation(duration=4.0)
        compiling = compile_seconds() - before
        assert compiling > 0.0
        assert summary.lines(compiling + 2.0)[0] == (
            f"1 robot, 8 steps, 4.00 s simulated in {compiling + 2.0:.2f} s "
            f"(2.0 times real time, plus {compiling:.1f} s of one-time compilation)"
        )
        assert plus(1, 2) == 3
        assert RunSummary(sim).lines(2.0)[0].endswith("(0 times real time)"), "none of it is compiled again"


def test_failed_actions_are_named_with_the_reason(scenario_summary: Path) -> None:
    move = "{type: move_to, target_pose: [6, 5, 0], route: true}"
    scenario_summary.write_text(f"{WALL}  - {{name: lost, urdf_path: diff_base, pose: [0, 5, 0], actions: [{move}]}}\n")
    out = fleet_sim_command("run", str(scenario_summary)).stdout
    assert "actions: 1 completed, 1 failed\n  lost: MoveTo failed: " in out


def test_several_seeds_make_one_table(scenario_summary: Path) -> None:
    done = fleet_sim_command("run", str(scenario_summary), "--seeds", "3,7-8", "--duration", "1", "--hash")
    heading, *lines = (line.split() for line in done.stdout.splitlines())
    assert heading[:2] == ["seed", "simulated"]
    assert [line[0] for line in lines] == ["3", "7", "8"]


@pytest.mark.slow
def test_the_table_of_seeds_has_goals(scenario_summary: Path) -> None:
    move = "{type: move, path: [[1, 0, 0], [2, 0, 0]]}"
    scenario_summary.write_text(f"robots: [{{name: a, urdf_path: diff_base, pose: [0, 0, 0], actions: [{move}]}}]\n")
    done = fleet_sim_command("run", str(scenario_summary), "--seeds", "1,2", "--duration", "8")
    heading, *lines = (line.replace(" s ", "s ").split() for line in done.stdout.splitlines())
    assert [line[heading.index("goals")] for line in lines] == ["1", "1"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--seeds", "3-x"], "must be a whole number"),
        (["--seeds", "5-2"], "must be at least 5, got 2"),
        (["--seeds", "1-3,2"], "seed 2 is given twice"),
        (["--seeds", "0-10000000"], "at most 100000 seeds"),
        (["--seeds", "1-2", "--picture", "a.png"], "--picture is for one run"),
        (["--seeds", "1-2", "--gui"], "--gui is for one run"),
        (["--seeds", "1-2", "--duration", "0"], "needs runs that end"),
        (["--seeds", "1", "--seed", "1"], "not allowed with"),
    ],
)
def test_wrong_seeds_are_refused(scenario_summary: Path, arguments: list[str], reason: str) -> None:
    done = fleet_sim_command("run", str(scenario_summary), *arguments)
    assert done.returncode in (1, 2)
    assert reason in done.stderr


def test_a_wrong_option_is_named_by_its_command() -> None:
    done = fleet_sim_command("run", "demo.yaml", "--fast")
    assert done.returncode == 2
    assert done.stderr.startswith("fleet-sim run: error: unrecognized arguments: --fast")


def test_robots_that_stood_are_told_beside_deadlocks(tmp_path: Path) -> None:
    (tmp_path / "row.map").write_text("type octile\nheight 1\nwidth 4\nmap\n....\n")
    robot = {"shape": {"shape_type": "cylinder", "radius": 0.3, "height": 0.3}, "motion_mode": "differential"}
    content = {
        "simulation": {"gui": False, "timestep": 0.1, "target_rtf": 0, "duration": 40.0},
        "site": "row.map",
        # In a row of cells robots cannot pass each other.
        "robots": [{**robot, "name": str(x), "pose": [x + 0.5, 0.5, 0.15]} for x in range(3)],
        "traffic": {},
        "tasks": {"goals": "random"},
    }
    (tmp_path / "row.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    figures = tmp_path / "run.json"
    done = fleet_sim_command("run", str(tmp_path / "row.yaml"), "--figures", str(figures))
    assert done.returncode == 0, done.stderr
    out = done.stdout
    found = read_run(figures).figures
    told = (
        f"{found['deadlocks']:g} deadlock",
        f"{found['stuck_robots']:g} robots stuck",
        f"{found['longest_wait_s']:.0f} s",
    )
    line = next(text for text in out.splitlines() if "deadlock" in text)
    assert all(part in line for part in told)
    assert found["longest_wait_s"] > 20.0


CODE = """
import os, signal

def ends(sim, dt, number=0):
    if sim.step_count == 3 and number:
        os.kill(os.getpid(), number)

def fails(sim, dt):
    raise LookupError("mine")

class Rubbish:
    def plan(self, problem):
        raise LookupError("no idea")
"""
BLIND = "{name: b, urdf_path: diff_base, actions: [{type: pick, target_object_id: nothing}]}"
SLOW = "{name: s, urdf_path: diff_base, actions: [{type: move_to, target_pose: [90, 0, 0]}]}"


@pytest.mark.parametrize(
    ("scenario_summary", "options", "last"),
    [
        (f"robots: [{BLIND}]", [], "1 action failed"),
        (f"robots: [{SLOW}]", [], "1 robot short of the goal"),
        # Who looks at a part of a run expects nobody to arrive in it.
        (f"robots: [{SLOW}]", ["--duration", "1"], None),
        ("robots: [{name: r}]", ["--set", "simulation.timestep=2"], "a step of 2 s is longer than the run of 1 s"),
        ("robots: [{name: r}]\ncallbacks: ['failing_code:fails']", [], "10 errors in callback (fails)"),
        (
            WALL.split("\n", 2)[2].replace("[6, 0, 0]", "[3.2, 0, 0]"),
            ["--duration", "8"],
            "1 robot inside static bodies",
        ),
    ],
    ids=["action", "goal", "part of a run", "step", "user code", "wall"],
)
def test_what_failed_is_the_last_line_and_the_exit_code(
    tmp_path: Path, scenario_summary: str, options: list[str], last: str | None
) -> None:
    (tmp_path / "failing_code.py").write_text(CODE)
    settings = "simulation: {gui: false, target_rtf: 0, timestep: 0.1, duration: 1, max_failures: 0}\n"
    (tmp_path / "run.yaml").write_text(settings + scenario_summary)
    command = ("run", "run.yaml", *options, "--json", "run.json")
    done = fleet_sim_command(*command, cwd=tmp_path)
    faults = json.loads((tmp_path / "run.json").read_text())["runs"][0]["faults"]
    assert (done.returncode, faults) == ((1, [last]) if last else (0, [])), done.stdout + done.stderr
    assert (done.stdout.splitlines()[-1] == f"failed: {last}") == bool(last)
    lenient = fleet_sim_command(*command, "--lenient", cwd=tmp_path)
    assert lenient.returncode == 0
    assert (lenient.stdout.splitlines()[-1] == f"failed: {last}") == bool(last)
    seeds = fleet_sim_command("run", "run.yaml", *options, "--seeds", "4,5", cwd=tmp_path)
    assert seeds.returncode == bool(last)
    assert not last or seeds.stdout.splitlines()[-1] == f"failed: seed 4: {last}; seed 5: {last}"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_with_its_summary_and_code(tmp_path: Path, number: signal.Signals, code: int) -> None:
    (tmp_path / "failing_code.py").write_text(CODE.replace("number=0", f"number={int(number)}"))
    settings = "simulation: {gui: false, target_rtf: 0, timestep: 0.1, duration: 0}\n"
    (tmp_path / "run.yaml").write_text(settings + "robots: [{name: r}]\ncallbacks: ['failing_code:ends']\n")
    program = "import sys; from fleet_sim.apps.cli import start; sys.exit(start())"
    command = [sys.executable, "-c", program, "run", "run.yaml", "--json", "run.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, "interrupted at 0.40 s"), done.stderr
    assert done.stdout.startswith("1 robot, 4 steps, 0.40 s simulated")
    assert json.loads((tmp_path / "run.json").read_text())["runs"][0]["interrupted"] is True


def test_a_refused_plan_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "failing_code.py").write_text(CODE)
    (tmp_path / "open.map").write_text("type octile\nheight 4\nwidth 6\nmap\n" + "......\n" * 4)
    done = fleet_sim_command(
        "traffic",
        "run",
        "open.map",
        "--robots",
        "2",
        "--seconds",
        "5",
        "--planner",
        "failing_code:Rubbish",
        cwd=tmp_path,
    )
    assert done.returncode == 1


def test_a_name_is_no_formula_in_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["=1+1", "+1", "-1", "@a", "plain", "a=1", "-"]
    robots = [{"name": name, "pose": [at, 0, 0.1]} for at, name in enumerate(names)]
    Path("formula.yaml").write_text(yaml.safe_dump({"simulation": {"gui": False, "target_rtf": 0}, "robots": robots}))
    assert main(["run", "formula.yaml", "--headless", "--duration", "0.1", "--metrics", "table.csv"]) == 0
    with Path("table.csv").open(newline="") as file:
        written = [line["robot"] for line in csv.DictReader(file)]
    assert written == ["'=1+1", "'+1", "'-1", "'@a", "plain", "a=1", "-"]
