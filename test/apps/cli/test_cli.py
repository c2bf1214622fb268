"""The command line as a user calls it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import references
from command_line import fleet_sim_command
from fresh_python import words_of

import fleet_sim
from fleet_sim.apps.cli.main import SUBCOMMANDS, main

LONG = "x" * 1_000_000


@pytest.mark.slow
def test_help_shows_examples_that_parse() -> None:
    done = fleet_sim_command("--help")
    assert done.returncode == 0
    examples = re.findall(r"^  fleet-sim ([a-z]+)", done.stdout, re.MULTILINE)
    assert set(examples) == set(SUBCOMMANDS.registered())
    for command in set(examples):
        assert fleet_sim_command(command, "--help").returncode == 0


def test_help_loads_neither_robots_nor_a_simulation() -> None:
    code = (
        "import sys; from fleet_sim.apps.cli.main import build_parser; build_parser(['--help']).format_help();"
        "print(*sorted({name.split('.')[1] for name in sys.modules if name.startswith('fleet_sim.')}))"
    )
    loaded = set(words_of(code))
    assert {"apps", "base"} <= loaded
    late = {"world", "engines", "robots", "sensing", "simulation", "ros", "swarm", "learning"}
    assert loaded & late == set()


def test_version() -> None:
    assert fleet_sim_command("--version").stdout == f"fleet-sim {fleet_sim.__version__}\n"


def test_wrong_usage_exits_with_2() -> None:
    assert fleet_sim_command().returncode == 2
    assert fleet_sim_command("fly").returncode == 2
    assert fleet_sim_command("bench", "--robots", "0").returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [[LONG], ["run", LONG], ["run", "--rtf", LONG], ["run", f"--{LONG}"], ["traffic", LONG], ["bench", LONG]],
)
def test_messages_do_not_repeat_long_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code in (1, 2)
    assert 0 < len(capsys.readouterr().err) < 10_000


def test_bench_refuses_more_robots_than_any_memory_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--robots", "1000000000"]) == 1
    assert "--robots: expected at most 1000000, got 1000000000" in capsys.readouterr().err


FINALIZED = """
import os, signal, sys, threading
from fleet_sim.apps.cli.main import interrupted_by_sigterm

class Last:
    def __del__(self):
        # Handlers run between two steps of Python, here still in the finalizer.
        os.kill(os.getpid(), int(sys.argv[1]))
        sum(range(10))

with interrupted_by_sigterm():
    try:
        Last()
        threading.Event().wait()
    except KeyboardInterrupt:
        print("interrupted")
"""


FORGOTTEN = """
import os, signal, sys, threading, weakref
from fleet_sim.apps.cli.main import interrupted_by_sigterm

class Last:
    pass

def forget(reference):
    os.kill(os.getpid(), int(sys.argv[1]))
    sum(range(10))

with interrupted_by_sigterm():
    try:
        last = Last()
        reference = weakref.ref(last, forget)
        del last
        threading.Event().wait()
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize("program", [FINALIZED, FORGOTTEN], ids=["finalizer", "callback of a weak reference"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_where_exceptions_are_ignored_is_not_lost(number: signal.Signals, program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program, str(int(number))], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_check_says_ok_or_the_error(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("simulation:\n  timestep: 0.1\n")
    bad.write_text("simulation:\n  timestep: 0.1\n  sed: 3\n")
    done = fleet_sim_command("check", "good.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "good.yaml: OK\n", "")
    done = fleet_sim_command("check", "good.yaml", "bad.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "good.yaml: OK\n")
    assert done.stderr == "fleet-sim: error: bad.yaml: simulation.sed: unknown key. Did you mean 'seed'?\n"
    done = fleet_sim_command("check", "god.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "Did you mean 'good.yaml'?" in done.stderr


def test_check_lists_all_errors(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("""
simulation: {timestep: 0.1, sed: 3, duration: -1}
robots:
  - {name: a, colour: red}
  - {name: b}
  - {name: c, actions: [{type: fly}]}
objects:
  - {name: d, pose: [1, 2]}
""")
    done = fleet_sim_command("check", "bad.yaml", cwd=tmp_path)
    places = [line.split(": ")[3] for line in done.stderr.splitlines()]
    assert (done.returncode, done.stdout) == (1, "")
    assert places == [
        "simulation.sed",
        "simulation.duration",
        "robots[0].colour",
        "robots[2].actions[0]",
        "objects[0].pose",
    ]


def test_check_says_what_cannot_go_well(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text("""
simulation: {timestep: 2.0, duration: 1.0}
objects:
  - {name: wall, pose: [3, 0, 0.5, 0.7], shape: {shape_type: box, half_extents: [0.1, 2, 0.5]}, collision_mode: static}
  - {name: crate, pose: [-3, 0, 0.1], shape: {shape_type: box, half_extents: [0.1, 0.1, 0.1]}}
robots:
  - {name: stuck, urdf_path: diff_base, pose: [3, 0, 0]}
  - {name: lost, urdf_path: diff_base, actions: [{type: move_to, target_pose: [2.5, 0.6, 0]}]}
  - {name: blind, urdf_path: diff_base, pose: [0, 2, 0], actions: [{type: pick, target_object_id: crat}]}
  - {name: fine, urdf_path: diff_base, pose: [0, 4, 0], actions: [{type: pick, target_object_id: crate}]}
  - {name: beside, urdf_path: diff_base, pose: [0, 6, 0], actions: [{type: move_to, target_pose: [2.5, -0.8, 0]}]}
""")
    done = fleet_sim_command("check", "hall.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert [line.removeprefix("fleet-sim: error: hall.yaml: ") for line in done.stderr.splitlines()] == [
        "simulation.timestep: a step of 2 s is longer than the run of 1 s",
        "blind: Pick: there is no 'crat' to take",
        "stuck: starts inside of 'wall', at (3, 0)",
        "lost: is sent to a place inside of 'wall', at (2.5, 0.6)",
    ]


def test_check_finds_shipped_scenarios_anywhere(tmp_path: Path) -> None:
    done = fleet_sim_command("check", "demo.yaml", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.endswith("demo.yaml: OK\n")


def test_schema_is_json() -> None:
    schema = json.loads(fleet_sim_command("schema").stdout)
    assert "timestep" in schema["properties"]["simulation"]["properties"]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--set", "simulation.seed"], "--set needs KEY=VALUE"),
        (
            ["--set", "simulation.seed=-1"],
            "demo.yaml: simulation.seed: must be a whole number at least 0, got -1",
        ),
        (["--set", "simulation.sed=1"], "simulation.sed: unknown key. Did you mean 'seed'?"),
        (["--rtf", "-1"], "simulation.target_rtf: must be a number at least 1e-06, or 0, got -1"),
        (["--duration", "nan"], "simulation.duration: must be a number at least 0 (s), got nan"),
        (["--rtf", "5e-324"], "simulation.target_rtf: must be a number at least 1e-06, or 0, got 5e-324"),
        (["--set", "simulation.seed=[1"], "not valid YAML"),
        (
            ["--duration", "1", "--set", "simulation=null"],
            "--set changes simulation.duration, which --duration gives, too",
        ),
        (
            ["--seeds", "1-2", "--set", "simulation.seed=3"],
            "--set changes simulation.seed, which --seed or --seeds gives",
        ),
        (["--set", "simulation.timestep=5e-324"], "simulation.timestep: must be a number at least 1e-09"),
        (["--set", "simulation.world_extent=5e-324"], "simulation.world_extent: must be a number at least 0.001"),
    ],
)
def test_run_names_a_wrong_option(option: list[str], words: str) -> None:
    done = fleet_sim_command("run", "demo.yaml", "--headless", *option)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_run_says_what_happened() -> None:
    done = fleet_sim_command("run", "demo.yaml", "--headless", "--rtf", "0", "--duration", "1", "--hash")
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d+ robots, 20 steps, 1\.00 s simulated", done.stdout)
    assert re.search(r"^state hash: \w+$", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_run_opens_no_window_where_there_is_no_display_and_nobody_asked_for_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    done = fleet_sim_command("run", "demo.yaml", "--rtf", "0", "--duration", "0.5")
    assert done.returncode == 0 and "running without a window" in caplog.text
    for wish in (["--gui"], ["--set", "simulation.gui=true"]):
        done = fleet_sim_command("run", "demo.yaml", "--duration", "0.5", *wish)
        references.skip_program_that_needs_pybullet(done.stderr)
        assert done.returncode == 1 and "a window was requested but DISPLAY is not set" in done.stderr


def test_run_refuses_a_picture_it_cannot_write_before_it_begins() -> None:
    for picture, words in (("a.jpg", "must be a .png file"), ("no/a.png", "there is no folder 'no'")):
        done = fleet_sim_command("run", "demo.yaml", "--headless", "--picture", picture)
        assert done.returncode == 1 and words in done.stderr and "simulated" not in done.stdout


def test_run_saves_a_picture_of_the_end(tmp_path: Path) -> None:
    picture = tmp_path / "end.png"
    done = fleet_sim_command(
        "run", "demo.yaml", "--headless", "--rtf", "0", "--duration", "1", "--picture", str(picture)
    )
    assert done.returncode == 0, done.stderr
    assert f"picture: {picture}" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_bench_prints_a_row_for_each_size() -> None:
    done = fleet_sim_command("bench", "--robots", "10", "20", "--steps", "3")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[2:]] == ["10", "20"]


def test_doctor_lists_what_there_is_and_how_to_get_the_rest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("ROS_DOMAIN_ID", "17")
    monkeypatch.delenv("DISPLAY", raising=False)
    done = fleet_sim_command("doctor")
    assert done.returncode == 0, done.stdout
    found = {line[:25].strip(): line[25:].strip() for line in done.stdout.splitlines()}
    assert found["NumPy"] == np.__version__
    assert found["kept machine code"].endswith("; fleet-sim warm makes it ahead")
    assert found["display"].startswith("none")
    assert "domain 17" in found["ROS 2"] or find_spec("rclpy") is None
    # Of each extra either versions or the line that installs it.
    extras = {name.removeprefix("extra "): text for name, text in found.items() if name.startswith("extra ")}
    assert {"camera", "gym", "view"} <= extras.keys()
    for name, text in extras.items():
        assert text.endswith(f"; pip install 'fleet_sim[{name}]'") == text.startswith("no ")
