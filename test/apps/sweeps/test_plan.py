"""What is varied: values, combinations and seeds, and how mistakes are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fleet_sim import ConfigError
from fleet_sim.apps.sweeps import limits_of, load_sweep
from fleet_sim.base.parallel import JobLimits

SCENARIO: dict[str, Any] = {
    "simulation": {"gui": False, "monitor": False, "timestep": 0.1},
    "robots": [{"name": "a", "shape": {"shape_type": "box"}}],
}


def sweep(**settings: Any) -> Any:
    return load_sweep({"scenario": SCENARIO, "duration": 1.0, **settings})


def test_a_grid_has_every_combination_with_every_seed() -> None:
    plan = sweep(parameters={"simulation.timestep": [0.1, 0.2], "robots[0].name": ["x", "y", "z"]}, seeds="3-4")
    assert len(plan) == 12
    found = [(*plan.values(number).values(), plan.seed(number)) for number in range(12)]
    assert found == [(step, name, seed) for step in (0.1, 0.2) for name in "xyz" for seed in (3, 4)]
    scenario = plan.scenario_of(11)
    assert scenario["simulation"]["timestep"] == 0.2
    assert scenario["simulation"]["seed"] == 4
    assert scenario["robots"][0]["name"] == "z"
    # The plan's own is as it was.
    assert plan.scenario_of(0)["robots"][0]["name"] == "x"


def test_zip_takes_the_values_side_by_side() -> None:
    plan = sweep(parameters={"simulation.timestep": [0.1, 0.2], "robots[0].name": ["x", "y"]}, combine="zip")
    assert [tuple(plan.values(number).values()) for number in range(len(plan))] == [(0.1, "x"), (0.2, "y")]
    with pytest.raises(ConfigError, match=r"has 2, .* has 1"):
        sweep(parameters={"simulation.timestep": [0.1, 0.2], "robots[0].name": ["x"]}, combine="zip")


def test_ranges_and_distributions() -> None:
    parameters: dict[str, Any] = {"simulation.timestep": {"from": 0.1, "to": 0.3, "step": 0.1}}
    assert sweep(parameters=parameters).axes["simulation.timestep"] == pytest.approx([0.1, 0.2, 0.3])
    assert sweep(parameters={"a.b": {"from": 2, "to": 6, "count": 3}}).axes["a.b"] == [2, 4, 6]
    parameters["robots[0].x"] = {"uniform": [-1, 1]}
    parameters["robots[0].y"] = {"log_uniform": [0.1, 10]}
    plan = sweep(parameters=parameters, samples=4)
    assert len(plan) == 12
    # What is drawn belongs together: four points, not sixteen.
    points = {(plan.values(number)["robots[0].x"], plan.values(number)["robots[0].y"]) for number in range(12)}
    assert len(points) == 4
    assert all(-1 <= x <= 1 and 0.1 <= y <= 10 for x, y in points)
    again = sweep(parameters=parameters, samples=6)
    assert again.axes["robots[0].x"][:4] == plan.axes["robots[0].x"]
    assert sweep(parameters=parameters, samples=4, sample_seed=1).axes["robots[0].x"] != plan.axes["robots[0].x"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seeds": "3-1"}, "seeds: .*ends before"),
        ({"seeds": [1, 1]}, "seed 1 is given twice"),
        ({"seeds": "x"}, "whole number"),
        ({"seeds": -1}, "whole numbers of at least 0 .* got '-1'"),
        ({"seeds": "3-"}, "whole numbers of at least 0 .* got '3-'"),
        ({"seeds": [1, "4-2"]}, "ends before"),
        ({"seeds": "1,,2"}, "whole numbers of at least 0 .* got ''"),
        ({"parameters": {"a": {"uniform": [0, 10**400]}}}, "parameters.a.uniform: must be finite"),
        ({"parameters": {"robots[3].name": [1]}}, r"parameters.robots\[3\].name: .*1 entries"),
        ({"parameters": {"a": []}}, "parameters.a: must be a list of values"),
        ({"parameters": {"a": {"uniform": [2, 1]}}}, "parameters.a.uniform: .*smaller and a larger"),
        ({"parameters": {"a": {"normal": [0, 0]}}}, "above 0"),
        ({"parameters": {"a": {"log_uniform": [0, 1]}}}, "above 0"),
        ({"parameters": {"a": {"uniform": [0, 1], "step": 1}}}, "nothing beside uniform"),
        ({"parameters": {"a": {"from": 0, "to": 1}}}, "`count` or `step`"),
        ({"parameters": {"a": {"from": 1, "to": 1, "count": 2}}}, "above from"),
        ({"parameters": {"simulation.seed": [1]}}, "varied by `seeds`"),
        ({"time_limit": 0}, "time_limit"),
        ({"memory_limit": 0}, "memory_limit"),
        ({"colour": 1}, "colour"),
        ({"scenario": 3}, "name of a file"),
    ],
)
def test_mistakes_name_their_place(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        sweep(**settings)


def test_the_scenario_is_looked_for_beside_the_sweep_first(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").write_text("robots: [{name: mine}]\n")
    (tmp_path / "sweep.yaml").write_text("scenario: demo.yaml\nduration: 1\n")
    assert load_sweep(tmp_path / "sweep.yaml").scenario["robots"][0]["name"] == "mine"
    (tmp_path / "demo.yaml").unlink()
    assert len(load_sweep(tmp_path / "sweep.yaml").scenario["robots"]) >= 1


def test_limits_are_those_of_each_run() -> None:
    assert limits_of(sweep(time_limit=2, memory_limit=300, attempts=5)) == JobLimits(2.0, 300.0, 5)
