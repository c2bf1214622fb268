"""`fleet-sim bench` shows where the time of a scenario goes; `fleet-sim warm` compiles ahead."""

from __future__ import annotations

import pytest

from fleet_sim.apps.cli.bench import bars
from fleet_sim.apps.cli.main import main


def test_bench_shows_the_systems_of_a_scenario_as_bars(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "demo.yaml", "--steps", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "218 entities, 3 steps; median step" in lines[0]
    assert "compiled code" in lines[1]
    names = [line.split("  ")[0].strip() for line in lines[2:]]
    assert {"motion", "collisions", "controllers", "the rest"} <= set(names)
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


def test_robots_of_a_scenario_are_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "demo.yaml", "--robots", "5"]) == 1
    assert "a scenario has robots of its own" in capsys.readouterr().err


def test_warm_runs_scenarios_with_compiled_code(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numba")
    assert main(["warm", "warehouse.yaml"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("  warehouse.yaml: ") and "all that these use is compiled" in last
    assert main(["warm", "warehous.yaml"]) == 1
    assert "warehouse.yaml" in capsys.readouterr().err
