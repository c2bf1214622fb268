"""The benchmark runs and counts; how fast it is, nobody asserts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "bench" / "run.py"


def test_every_size_is_measured_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(RUN.parent))
    from plan import Plan  # the folder of the benchmark is not a package

    cases = Plan((10, 20), quick=False, steps=1).compared()
    assert len(set(cases)) == 2 * 2 * 2 * 2
    assert set(Plan((10, 20), quick=True, steps=1).compared()) < set(cases)


@pytest.mark.slow
def test_bench_measures_fleet_sim_alone_where_there_is_no_peer(tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    out = tmp_path / "bench.json"
    options = ["--quick", "--robots", "30", "--steps", "3", "--rounds", "1", "--json", str(out)]
    done = subprocess.run([sys.executable, str(RUN), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "not measured" in done.stdout
    entries = json.loads(out.read_text(encoding="utf-8"))
    assert {entry["simulator"] for entry in entries} == {"ours"}
    assert {entry["case"]["flush"] for entry in entries} == {"demand", "step"}
    first = entries[0]["rounds"][0]
    assert first["still_moving"] == 15
    assert sum(first["systems"].values()) > 0.0


@pytest.mark.slow
def test_bench_says_which_measurement_failed() -> None:
    options = ["--quick", "--robots", "5", "--steps", "1", "--rounds", "1", "--peer", sys.executable]
    done = subprocess.run([sys.executable, str(RUN), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "peer.py" in done.stderr
    assert "pybullet_fleet" in done.stderr


@pytest.mark.slow
def test_the_benchmark_of_the_node_measures_both_interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rclpy")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(100 + os.getpid() % 100))
    command = [sys.executable, str(RUN.with_name("ros.py")), "--quick", "--robots", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    heading, fleet, per_robot = done.stdout.splitlines()[1:4]
    assert "RTF" in heading and "p99 move ms" in heading
    assert fleet.split()[:2] == ["3", "fleet"] and per_robot.split()[:3] == ["3", "per", "robot"]
    columns, figures = (line.replace("commands lost", "commands").split() for line in done.stdout.splitlines()[-2:])
    at_real_time = dict(zip([name for name in columns if name != "ms"], figures, strict=True))
    assert (at_real_time["robots"], at_real_time["lost"], at_real_time["commands"]) == ("3", "0", "0")


@pytest.mark.slow
def test_bench_of_swarm_worlds_compares_programs_that_do_the_same() -> None:
    options = ["--agents", "40", "--distances", "1", "--rounds", "1", "--large", "50", "--memory", "20"]
    script = RUN.with_name("swarm.py")
    done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("arrays", "plain Python", "per agent", "boids", "reciprocal avoidance", "resident MiB"):
        assert name in done.stdout


@pytest.mark.slow
def test_bench_of_distances_finds_those_of_pybullet() -> None:
    pytest.importorskip("pybullet")
    program = RUN.with_name("exact.py")
    options = ["--pairs", "60", "--kinds", "box", "prism"]
    done = subprocess.run([sys.executable, str(program), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()[1:]]
    assert len(lines) == 3
    # So many differ by more than 0.1 mm, and so many contacts are missed.
    assert all(line[4:6] == ["0", "0"] for line in lines), done.stdout


@pytest.mark.slow
def test_every_solver_is_measured_on_the_same_targets() -> None:
    pytest.importorskip("pybullet")
    command = [sys.executable, str(RUN.with_name("kinematics.py")), "--targets", "5", "--models", "kuka_iiwa"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("kuka_iiwa, 7 axes")]
    assert [line.split("  ")[0] for line in lines] == ["kuka_iiwa, 7 axes"] * 8
    ours = [line for line in lines if "in one call" in line]
    assert len(ours) == 2
    assert all(float(line.split()[-2]) == 100.0 for line in ours)
    assert "fleet_sim, 1000 arms" in done.stdout
