"""The command line as a user calls it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import struct
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
from fleet_sim.apps.cli import arguments as progress
from fleet_sim.apps.cli.arguments import ProgressBar
from fleet_sim.apps.cli.bench import bars
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
    assert fleet_sim_command("bench", "demo.yaml", "--steps", "0").returncode == 2


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
  - {name: a, colour: red, mass: heavy}
  - {name: b, urdf_path: diff_base, sensors: [{type: lidar, rate: -1}, {type: imu}, {type: camra}]}
  - {name: actions, motion_mode: sideways, actions: [{type: fly}, {type: wait, duration: 1}, {type: wait, duration: x}]}
objects:
  - {name: d, pose: [1, 2], mass: two, shape: {shape_type: bx, half_extents: [1, 1]}}
site: {map: hall.yaml}
ros: {publish_rte: 10, rates: {odom: often}}
traffic: {planner: 7}
""")
    done = fleet_sim_command("check", "--json", "bad.yaml", cwd=tmp_path)
    errors = json.loads(done.stdout)["bad.yaml"]
    places = [line.split(": ")[1] for line in errors]
    assert (done.returncode, done.stderr) == (1, "")
    assert "bad.yaml: robots[2]: actions: motion_mode: unknown motion law 'sideways'" in "".join(errors)
    assert sorted(places) == [
        "objects[0].mass",
        "objects[0].pose",
        "objects[0].shape.half_extents",
        "objects[0].shape.shape_type",
        "robots[0].colour",
        "robots[0].mass",
        "robots[1].sensors[0].rate",
        "robots[1].sensors[2].type",
        "robots[2]",
        "robots[2].actions[0]",
        "robots[2].actions[2]",
        "ros.publish_rte",
        "ros.rates.odom",
        "simulation.duration",
        "simulation.sed",
        "site",
        "traffic.planner",
    ]


def test_an_unknown_model_hides_no_other_error(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("""
robots:
  - {name: a, urdf_path: diff_bse, motion_mode: sideways, sensors: [{type: lidar, link: base_scan}, {type: lidr}],
     actions: [{type: joint, target_joint_positions: [1.0]}], controller: {type: patrl}}
  - {name: b, urdf_path: diff_bse, pose: [1]}
""")
    done = fleet_sim_command("check", "bad.yaml", cwd=tmp_path)
    told = [line.removeprefix("fleet-sim: error: bad.yaml: ").split(". ")[0] for line in done.stderr.splitlines()]
    assert sorted(told) == [
        "robots[0].sensors[1].type: unknown sensor 'lidr'",
        "robots[0]: a: unknown model 'diff_bse'",
        "robots[0]: motion_mode: unknown motion law 'sideways'",
        "robots[0]: unknown controller 'patrl'",
        "robots[1].pose: expected 3 or 4 numbers (x, y, z, yaw), got [1]",
        "robots[1]: unknown model 'diff_bse'",
    ]


def test_check_says_what_cannot_go_well(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text("""
simulation: {timestep: 2.0, duration: 1.0}
ros: {groups: [state]}
objects:
  - {name: wall, pose: [3, 0, 0.5, 0.7], shape: {shape_type: box, half_extents: [0.1, 2, 0.5]}, collision_mode: static}
  - {name: crate, pose: [-3, 0, 0.1], shape: {shape_type: box, half_extents: [0.1, 0.1, 0.1]}}
robots:
  - {name: stuck, urdf_path: diff_base, pose: [3, 0, 0]}
  - {name: lost, urdf_path: diff_base, actions: [{type: move_to, target_pose: [2.5, 0.6, 0]}]}
  - {name: blind, urdf_path: diff_base, pose: [0, 2, 0], actions: [{type: pick, target_object_id: crat}]}
  - {name: fine, urdf_path: diff_base, pose: [0, 4, 0], actions: [{type: pick, target_object_id: crate}]}
  - {name: amr 7, urdf_path: diff_base, pose: [0, 8, 0]}
  - {name: beside, urdf_path: diff_base, pose: [0, 6, 0], actions: [{type: move_to, target_pose: [2.5, -0.8, 0]}]}
  - {name: twin, urdf_path: diff_base, pose: [0.2, 6, 0]}
  - {name: over, urdf_path: diff_base, pose: [-3, 0, 0]}
  - {name: arm, urdf_path: arm6, pose: [-6, 0, 0], actions: [{type: joint, target_joint_positions: {elbow: 0.1}}]}
  - {name: far, urdf_path: arm6, pose: [-9, 0, 0], actions: [{type: pick, joint_targets: {joint_1: 9}}]}
""")
    done = fleet_sim_command("check", "hall.yaml", cwd=tmp_path)
    assert done.returncode == 1
    lines = [line.removeprefix("fleet-sim: error: hall.yaml: ") for line in done.stderr.splitlines()]
    assert [line.split(" of 'arm6'")[0].split(" [")[0] for line in lines] == [
        "simulation.timestep: a step of 2 s is longer than the run of 1 s",
        "'amr 7' would have no topics: a ROS name has letters, digits and _, and begins with a letter",
        "blind: Pick: there is no 'crat' to take",
        "arm: JointAction: unknown joint",
        "far: Pick: target 9 of joint 'joint_1' is outside its limits",
        "stuck: starts inside of 'wall', at (3, 0)",
        "lost: is sent to a place inside of 'wall', at (2.5, 0.6)",
        "beside: starts inside of 'twin'",
        "over: starts inside of 'crate'",
    ]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("shape: {size: [1, 1, 1]}", "For example: {shape_type: box, half_extents:"),
        ("model: diff_base", "For example: {name: amr_1, urdf_path: diff_base,"),
        ("urdf_path: diff_base, pose: [0, 0]", "expected 3 or 4 numbers (x, y, z, yaw), got [0, 0]"),
        ("urdf_path: 'package://my_pkg/a.urdf'", "No package 'my_pkg' is known: source its workspace"),
        ("urdf_path: diff_base, sensors: [{type: lidar, link: lidar_lnk}]", "Known: base_link, base_scan"),
        ("urdf_path: diff_base", "'robot 1' would have no topics on ROS 2"),
    ],
)
def test_check_says_how_it_is_written(entry: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"robots: [{{name: robot 1, {entry}}}]")
    done = fleet_sim_command("check", "a.yaml", cwd=tmp_path)
    assert words in done.stderr


def test_the_name_of_a_site_gets_the_names_of_sites(tmp_path: Path) -> None:
    done = fleet_sim_command("check", "sites/warehous.yaml", "sites/x.yaml", cwd=tmp_path)
    near, known = done.stderr.splitlines()
    assert near.endswith("Did you mean 'sites/warehouse.yaml'?") and "Known: sites/goods_to_person.yaml" in known


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
        (["--set", "simulation.seed=-1"], "demo.yaml: simulation.seed: must be a whole number at least 0, got -1"),
        (["--set", "simulation.sed=1"], "simulation.sed: unknown key. Did you mean 'seed'?"),
        (["--rtf", "-1"], "simulation.target_rtf: must be a number at least 1e-06, or 0, got -1"),
        (["--duration", "nan"], "simulation.duration: must be a number at least 0 (s), got nan"),
        (["--set", "simulation.seed=[1"], "not valid YAML"),
        (
            ["--duration", "1", "--set", "simulation=null"],
            "--set changes simulation.duration, which --duration gives, too",
        ),
        (
            ["--seeds", "1-2", "--set", "simulation.seed=3"],
            "--set changes simulation.seed, which --seed or --seeds gives",
        ),
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


# ---- `fleet-sim models` as users call it -----------------------------------------------------------------------------


def test_list_names_every_known_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["arm6"].endswith("arm6.urdf") and " local " in lines["arm6"]
    # PyBullet's, or where that is not installed the one of our own.
    assert f" {'pybullet_data' if find_spec('pybullet_data') else 'local'} " in lines["panda"]


def test_list_of_a_tier_has_more_than_the_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pybullet_data")
    assert main(["models", "list", "--tier", "pybullet_data"]) == 0
    assert "teddy_vhacd" in capsys.readouterr().out


def test_show_tells_links_joints_and_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "show", "mobile_manipulator"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "mobile_manipulator: mobile_manipulator, ",
        "base_link  (box 0.8 x 0.46 x 0.3",
        "[-1.4, 2.6]  2 rad/s  180 N m",
        "[0, 0.04]  0.2 m/s  60 N",
        "end effector  gripper_link (link ",
        "wheels        left_wheel_joint, right_wheel_joint",
    ):
        assert words in shown


def test_render_writes_a_picture_of_the_size_asked_for(tmp_path: Path) -> None:
    picture = tmp_path / "cube.png"
    assert main(["models", "render", "cube", str(picture), "--size", "64", "48"]) == 0
    content = picture.read_bytes()
    assert content.startswith(b"\x89PNG") and struct.unpack(">II", content[16:24]) == (64, 48)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "pnda"], "unknown model 'pnda'. Did you mean 'panda'?"),
        (["show", "/nowhere/robot.urdf"], "there is no robot description file '/nowhere/robot.urdf'"),
        (["render", "cube", "cube.jpg"], "the picture must be a .png file"),
        (["render", "cube", "no/cube.png"], "there is no folder 'no'"),
        (["render", "cube", "cube.png", "--size", "0", "4"], "expected a whole number of pixels"),
        (["list", "--path", "/nowhere"], "there is no folder '/nowhere'"),
    ],
)
def test_mistakes_are_named(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", *arguments]) == 1
    assert words in capsys.readouterr().err


def test_an_unknown_model_lists_robots_and_no_numbered_objects(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "show", "xyzzy"]) == 1
    told = capsys.readouterr().err
    assert "Known: " in told
    assert "arm6, " in told
    assert "000" not in told


# ---- `fleet-sim new` writes a scenario that works --------------------------------------------------------------------


@pytest.mark.parametrize(("name", "file"), [("hall", "hall.yaml"), ("my.fleet", "my.fleet.yaml"), ("a.yml", "a.yml")])
@pytest.mark.slow
def test_a_new_scenario_runs_without_a_collision(tmp_path: Path, name: str, file: str) -> None:
    done = fleet_sim_command("new", name, cwd=tmp_path)
    assert done.stdout == f"{file}: written. Try: fleet-sim run {file}\n"
    assert fleet_sim_command("check", file, cwd=tmp_path).stdout == f"{file}: OK\n"
    out = fleet_sim_command("run", file, "--headless", "--duration", "16", cwd=tmp_path).stdout
    assert "0 collisions, 0 of them with walls" in out
    assert "actions: 3 completed\n" in out


def test_a_file_that_exists_is_not_replaced_unasked(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text("mine")
    done = fleet_sim_command("new", "hall", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        "fleet-sim: error: hall.yaml exists; choose another name, or replace it with --force\n",
    )
    assert (tmp_path / "hall.yaml").read_text() == "mine"
    assert fleet_sim_command("new", "hall", "--force", cwd=tmp_path).returncode == 0


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    done = fleet_sim_command("new", "nowhere/hall", cwd=tmp_path)
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["", ".", "/", "hall\nrobots: []", "hall\udcff", "x" * 1000, "hall\0"])
def test_what_is_no_name_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", name]) == 1
    assert capsys.readouterr().err.startswith("fleet-sim: error: ")
    assert list(tmp_path.iterdir()) == []


# ---- `fleet-sim bench` shows where the time of a scenario goes; `fleet-sim warm` compiles ahead ----------------------


def test_bench_shows_the_systems_of_a_scenario_as_bars(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "demo.yaml", "--steps", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "218 entities, 3 steps; median step" in lines[0]
    assert "compiled code" in lines[1]
    names = [line.split("  ")[0].strip() for line in lines[2:]]
    assert {"motion", "collisions", "controllers", "the rest"} <= set(names)
    paid = [line for line in lines if line.startswith("motion: avoidance ")]
    assert len(paid) == 1 and paid[0].endswith(", as 96 robots drive around others (avoidance)")
    # The longest comes first.
    lengths = [line.count("#") for line in lines[2:]]
    assert lengths[0] == 40 and lengths == sorted(lengths, reverse=True)


def test_bars_add_up_to_the_step() -> None:
    lines = bars({"motion": 0.002, "sensors": 0.001, "inbox": 0.0}, 0.004)
    assert lines == [
        f"{'motion':20}    2.0000 ms  50.0%  {'#' * 40}",
        f"{'sensors':20}    1.0000 ms  25.0%  {'#' * 20}",
        f"{'the rest':20}    1.0000 ms  25.0%  {'#' * 20}",
    ]


def test_warm_runs_scenarios_with_compiled_code(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numba")
    assert main(["warm", "warehouse.yaml"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("  warehouse.yaml: ") and "all that these use is compiled" in last
    assert main(["warm", "warehous.yaml"]) == 1
    assert "warehouse.yaml" in capsys.readouterr().err


# ---- A file given to the wrong command, and a command that does not exist, are named for what they are ---------------


SCENARIO = "simulation: {gui: false}\nrobots: [{name: r}]\n"
FILES = {
    "scenario": SCENARIO,
    "swarm world": "type: RectangularWorld\nsize: [8, 8]\nspawners: []\n",
    "search": "world: a.yaml\nmetric: circliness\nparameters: {}\n",
    "sweep": "scenario: a.yaml\nseeds: [1, 2]\nparameters: {}\n",
}
COMMANDS = {"scenario": "run", "swarm world": "swarm", "search": "evolve", "sweep": "sweep"}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("wanted", COMMANDS)
def test_a_file_of_another_kind_is_named(
    kind: str, wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A swarm world is a scenario, too.
    if kind == wanted or (kind, wanted) == ("swarm world", "scenario"):
        return
    file = tmp_path / "mine.yaml"
    file.write_text(FILES[kind], encoding="utf-8")
    assert main([COMMANDS[wanted], str(file)]) == 1
    error = capsys.readouterr().err
    assert f"is a {kind}, not a {wanted}; use: fleet-sim {COMMANDS[kind]}" in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("rnu", "unknown command 'rnu'. Did you mean 'run'?"),
        ("demo.yaml", "a command is missing; to run a scenario: fleet-sim run demo.yaml"),
    ],
)
def test_a_command_that_does_not_exist(given: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([given])
    assert exit_.value.code == 2 and words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "seed: 3\nrobots: [{name: r}]",
            "seed: is not a section; a setting of the simulation is written as simulation.seed",
        ),
        ("robots: [{name: r, grid: 4}]", "robots[0].grid: must be a mapping with keys such as count, "),
        ("robots: [{name: r, sensors: [{type: lidar, link: arm}]}]", "has no link 'arm': it is one body"),
        ("robots: [{name: r, at: {site: free}}]", "needs the section 'site', which this scenario does not have"),
        (
            "ros: {per_robot: [wall]}\nrobots: [{name: r}]\nobjects: [{name: wall}]",
            "ros.per_robot[0]: unknown robot 'wall'. Known: r.",
        ),
    ],
)
def test_a_mistake_of_the_first_hour_names_the_remedy(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    assert main(["check", str(file)]) == 1
    assert words in capsys.readouterr().err


def test_a_name_gives_no_orders_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # As in a site, a recording or a state of a stranger: it colors, sets a title, goes back to the line's begin, and
    # turns the text around.
    orders = "\x1b[31mred\x1b]0;title\x07\x9b2J\rfree 0\u202eb"
    (tmp_path / "hall.yaml").write_text(f"site: {json.dumps(orders)}\ncell: 1\nrows: |\n  ..\n  ..\n")
    (tmp_path / "bad.yaml").write_text(f"{json.dumps(orders)}: 1\n")
    assert main(["site", "show", str(tmp_path / "hall.yaml")]) == 0
    assert main(["check", str(tmp_path / "bad.yaml")]) == 1
    printed = capsys.readouterr()
    shown = r"\x1b[31mred\x1b]0;title\x07\x9b2J\rfree 0\u202eb"
    for text in printed:
        assert shown in text
        assert all(letter.isprintable() or letter == "\n" for letter in text)


def test_it_runs_where_its_output_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    # As after `>&- 2>&-`, or for a program without a console.
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["models", "list"]) == 0
    assert main(["run", "xyzzy.yaml"]) == 1


def test_a_long_list_of_known_names_ends_with_three_dots(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "xyzzy.yaml"]) == 1
    assert capsys.readouterr().err.endswith(", ...\n")


# ---- The line with the progress of `run`, `swarm` and `bench`, tables on terminals, and tab completion ---------------


WORLD = """
{type: RectangularWorld, time_step: 0.1, stop_at: 30, metrics: [scatter], spawners: [{type: uniform, n: 5,
 agent: {type: MazeAgent, controller: {type: static, output: [0.5, 0.1]}}}]}
"""


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("run empty.yaml --duration 3", r"/3 s  "),
        ("run empty.yaml --duration 3 --seeds 1,2", "run 2 of 2  ["),
        ("swarm w.yaml", "/30 steps  "),
        ("bench empty.yaml --steps 5", "/5 steps  "),
    ],
)
def test_progress_has_rate_and_remaining_time(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "IN_LINES", 0.0)
    Path("empty.yaml").write_text("simulation: {gui: false, target_rtf: 0, timestep: 0.1}\nrobots: []\n")
    Path("w.yaml").write_text(WORLD)
    assert main([*command.split(), "--progress"]) == 0
    told = capsys.readouterr().err
    assert shown in told
    assert " per second  " in told
    assert " s left\n" in told
    # Nobody asked, and no terminal is there.
    for asked in ([], ["--no-progress"]):
        assert main([*command.split(), *asked]) == 0
        assert "per second" not in capsys.readouterr().err


def test_the_line_says_what_is_left() -> None:
    assert (
        ProgressBar(False, "s", 100.0).text(25.0, 5.0) == "[#####...............] 25/100 s  5 s per second  15 s left"
    )
    assert ProgressBar(False, "s").text(25.0, 5.0) == "25 s  5 s per second"


def test_an_action_of_a_subcommand_names_its_own_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["models", "render", "arm6", "a.png", "--picth=3"])
    told = "error: unrecognized arguments: --picth=3. Did you mean --pitch?; see fleet-sim models render --help"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("name", ["nosuch.map", "ofice.yaml"])
def test_a_site_that_is_not_there_suggests_sites(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["site", "show", name]) == 1
    said = capsys.readouterr().err
    assert "'sites/maps/office.yaml'" in said if name == "ofice.yaml" else "sites/maps/office.yaml" in said
    assert "demo.yaml" not in said


def test_shells_can_complete_commands_options_and_names(tmp_path: Path) -> None:
    pytest.importorskip("argcomplete")

    def completed(line: str) -> list[str]:
        asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "out"), "_ARGCOMPLETE_IFS": "\n"}
        asked |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_COMP_WORDBREAKS": " "}
        program = [sys.executable, "-m", "fleet_sim.apps.cli.main"]
        subprocess.run(program, env={**os.environ, **asked}, cwd=tmp_path, check=True, timeout=120)
        return [word.strip() for word in (tmp_path / "out").read_text().split("\n")]

    assert {"run", "swarm", "bench"} <= set(completed("fleet-sim "))
    assert {"--seed", "--seeds"} == set(completed("fleet-sim run --seed"))
    assert "demo.yaml" in completed("fleet-sim run d")
    assert "arm6" in completed("fleet-sim models render ar")


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
@pytest.mark.slow
def test_a_terminal_gets_lines_that_fit(tmp_path: Path) -> None:
    import pty

    master, slave = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "fleet_sim.apps.cli.main",
        "run",
        "empty.yaml",
        "--seeds",
        "1,2",
        "--duration",
        "300",
    ]
    (tmp_path / "empty.yaml").write_text("simulation: {gui: false, target_rtf: 0, timestep: 0.01}\nrobots: []\n")
    sized = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}
    with subprocess.Popen(command, stdout=slave, stderr=slave, cwd=tmp_path, env=sized) as process:
        os.close(slave)
        told = b""
        # The system says that the other end was closed by an error.
        with contextlib.suppress(OSError):
            while part := os.read(master, 65536):
                told += part
    os.close(master)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", told.decode())
    assert max(map(len, re.split(r"[\r\n]+", text))) <= 80
    assert "run 2 of 2  [" in text
    (heading,) = [line for line in text.splitlines() if "collisions" in line]
    assert "cancelled" in heading
