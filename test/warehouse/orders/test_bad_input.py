"""Wrong orders are refused with the reason, counted, and move nobody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from depot import ROBOT, depot, orders_of, run_until

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.warehouse.orders import OrderState

GOOD = {"id": "first", "pick": "shelf_a", "drop": "dock"}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({**GOOD, "drop": "dok"}, "unknown station 'dok'. Did you mean 'dock'"),
    ({**GOOD, "drop": [99.0, 1.0]}, r"the point \(99, 1\) is not on free space"),
    ({**GOOD, "drop": [2.5, 6.5]}, r"the point \(2.5, 6.5\) is not on free space"),
    ({**GOOD, "drop": "cell"}, "no robot gets from shelf_a to cell: there is no way"),
    ({**GOOD, "stops": ["shelf_a", "dock"]}, "give pick and drop, or stops"),
    ({"id": "x", "pick": "shelf_a"}, "pick and drop: both are needed"),
    ({"id": "x", "stops": ["shelf_a"]}, "at least two"),
    ({"id": "x", "stops": ["shelf_a", "shelf_a"]}, "stops at shelf_a twice in a row"),
    ({**GOOD, "release": -1.0}, "release: must be a number at least 0"),
    ({**GOOD, "release": 50.0, "due": 20.0}, "due: 20 s is before its release at 50 s"),
    ({**GOOD, "pick_time": float("nan")}, "pick_time: must be"),
    ({**GOOD, "load": 101.0}, "its load of 101 kg is too heavy, robots take 100 kg"),
    ({**GOOD, "load": -2.0}, "load: must be a number at least 0"),
    ({**GOOD, "priority": 1.5}, "priority: must be a whole number"),
    ({**GOOD, "id": "x" * 200}, "id: must be a text of at most 128"),
    ({**GOOD, "pick": 7}, "pick: must be the name of a station"),
    ({**GOOD, "colour": "red"}, "colour: unknown key"),
]


@pytest.mark.parametrize(("entry", "message"), WRONG)
def test_a_wrong_order_is_refused_with_the_reason_and_moves_nobody(
    tmp_path: Path, entry: dict[str, Any], message: str
) -> None:
    with depot(tmp_path) as sim:
        orders, place = orders_of(sim), sim.agents[0].get_pose().position
        with pytest.raises(fs.FleetSimError, match=message):
            orders.submit(entry)
        assert (orders.refused, len(orders)) == (1, 0)
        sim.run_simulation(duration=3.0)
        assert sim.agents[0].get_pose().position == place


@pytest.mark.parametrize(("entry", "message"), WRONG)
def test_a_wrong_order_in_a_file_is_an_error_with_file_and_key(
    tmp_path: Path, entry: dict[str, Any], message: str
) -> None:
    with pytest.raises(fs.ConfigError, match=rf"scenario.yaml: orders.list\[1\].*{message}"):
        depot(tmp_path, {"list": [{**GOOD, "id": "good"}, entry]})


def test_an_id_is_given_once(tmp_path: Path) -> None:
    with pytest.raises(fs.ConfigError, match=r"orders.list\[1\]: there is an order 'first' already"):
        depot(tmp_path, {"list": [GOOD, GOOD]})
    with depot(tmp_path, {"list": [GOOD]}) as sim:
        orders = orders_of(sim)
        with pytest.raises(fs.DuplicateNameError, match="there is an order 'first' already"):
            orders.submit(GOOD)
        assert orders.refused == 1
        with pytest.raises(fs.UnknownNameError, match=r"unknown order 'frist'. Did you mean 'first'"):
            orders.status("frist")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"lists": []}, "orders.lists: unknown key"),
        ({"robot": {"loaded_speed": 0.0}}, "orders.robot.loaded_speed: must be"),
        ({"load": {"size": [1.0, 1.0]}}, "orders.load.size: must be"),
        ({"attempts": 0}, "orders.attempts: must be"),
    ],
)
def test_wrong_settings_are_errors_with_file_and_key(tmp_path: Path, entry: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.ConfigError, match="scenario.yaml: " + message):
        depot(tmp_path, entry)


def test_orders_need_a_site(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text("simulation: {gui: false}\norders: {}\n")
    with pytest.raises(fs.ConfigError, match="orders: orders lead to the stations of a site"):
        fs.MultiRobotSimulationCore.from_yaml(path)
    with fs.MultiRobotSimulationCore() as sim, pytest.raises(fs.StateError, match="no orders without stations"):
        _ = sim.features.use("orders").orders


def test_who_cannot_drive_does_not_serve(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [GOOD]}, motion_mode="omnidirectional", use_fixed_base=True) as sim:
        assert not np.any(sim.features.table("orders").present)


STOREYS = Path(fs.__file__).parents[2] / "config" / "sites" / "maps" / "two_floors.building.yaml"


def test_orders_to_another_storey_of_a_site_are_refused_with_the_reason_by_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scenario.yaml"
    site = f"site: {{map: {STOREYS}, level: L1}}"
    path.write_text(f"simulation: {{gui: false}}\n{site}\norders: {{list: [{{pick: pantry, drop: ward}}]}}\n")
    assert main(["check", str(path)]) == 1
    assert "station 'ward' is on 'L2', and a section 'site' is one storey" in capsys.readouterr().err


# ---- Orders from files and at random ---------------------------------------------------------------------------------


CSV = """id,pick,drop,stops,load,priority,release,due
a,shelf_a,dock,,12.5,3,,600
7,shelf_b,(0.5 7.5),,,,10,

c,,,shelf_c|(6.5 7.5)|gate,,,,
"""


def test_a_csv_file_has_an_order_a_line(tmp_path: Path) -> None:
    (tmp_path / "today.csv").write_text(CSV)
    with depot(tmp_path, {"file": "today.csv"}) as sim:
        orders = orders_of(sim)
        assert orders.names == ["a", "7", "c"]
        assert orders.status("c").stops == ("shelf_c", "(6.5, 7.5)", "gate")
        assert orders.status("7").stops == ("shelf_b", "(0.5, 7.5)")
        assert (orders.status("7").released, orders.status("a").due) == (10.0, 600.0)
        run_until(sim, lambda: orders.counts[OrderState.DONE] == 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,pick,drop\na,shelf_a\n", "line 2: has 2 fields, the first line names 3"),
        ("id,pick,dorp\n", "line 1: unknown column 'dorp'. Did you mean 'drop'"),
        ("id,id\n", "line 1: two columns have the same name"),
        ("", "line 1: the first line must have the names"),
        ("id,pick,drop,load\na,shelf_a,dock,many\n", "line 2.load: must be a number, got 'many'"),
        ("id,pick,drop,load\na,shelf_a,dock,nan\n", "line 2.load: must be a number"),
        ("pick,drop,priority\nshelf_a,dock,1.5\n", "line 2.priority: must be a number"),
        ("id,pick,drop\na,shelf_a,dok\n", "line 2: unknown station 'dok'"),
        ("id,pick,drop\na,shelf_a,dock\na,shelf_b,dock\n", "line 3: there is an order 'a' already"),
        ('id,pick,drop\n"a,shelf_a,dock\n', "is not valid CSV"),
    ],
)
def test_a_wrong_csv_file_is_an_error_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "today.csv").write_text(text)
    with pytest.raises(fs.ConfigError, match=f"today.csv: .*{message}"):
        depot(tmp_path, {"file": "today.csv"})


def test_a_file_is_looked_for_beside_the_scenario_and_then_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for folder, name in ((here, "elsewhere"), (tmp_path, "beside")):
        (folder / "today.csv").write_text(f"id,pick,drop\n{name},shelf_a,dock\n")
        with depot(tmp_path, {"file": "today.csv"}) as sim:
            assert orders_of(sim).names == [name]


def test_a_file_that_is_not_there_is_an_error_with_the_key(tmp_path: Path) -> None:
    for key in ("file", "tasks"):
        with pytest.raises(fs.ConfigError, match=rf"scenario.yaml: orders.{key}: there is no file .*nowhere"):
            depot(tmp_path, {key: "nowhere"})


def league(folder: Path, tasks: str) -> Path:
    """Write a problem of the League with a map of 6 x 3 cells; returns a scenario with it."""
    (folder / "hall.map").write_text("type octile\nheight 3\nwidth 6\nmap\n......\n.@@@@.\n......\n")
    (folder / "hall.agents").write_text("2\n0\n5\n")
    (folder / "hall.tasks").write_text(tasks)
    problem = {"mapFile": "hall.map", "agentFile": "hall.agents", "taskFile": "hall.tasks", "teamSize": 2}
    (folder / "hall.json").write_text(json.dumps(problem))
    content = {
        "simulation": {"gui": False, "timestep": 0.1, "target_rtf": 0, "collision_check_frequency": 0},
        "site": "hall.json",
        "robots": [{**ROBOT, "at": {"site": "starts", "count": 2}, "pose": [0.0, 0.0, 0.15]}],
        "orders": {"tasks": "hall.json"},
    }
    path = folder / "league.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def test_tasks_of_the_league_are_orders(tmp_path: Path) -> None:
    path = league(tmp_path, "3\n3,14\n12,17,17,5\n17,0\n")
    with fs.MultiRobotSimulationCore.from_yaml(path) as sim:
        orders = orders_of(sim)
        assert orders.names == ["task_0", "task_1", "task_2"]
        # Rows are counted from above; what comes twice in a row is one stop.
        assert orders.status("task_1").stops == ("(0.5, 0.5)", "(5.5, 0.5)", "(5.5, 2.5)")
        run_until(sim, lambda: orders.counts[OrderState.DONE] == 3)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("1\n3\n", "task 0 goes to one cell only"),
        ("1\n3,7\n", "goes to a cell that is not free"),
        ("2\n3,4\n", "2 rows"),
    ],
)
def test_wrong_tasks_are_errors_that_name_the_file(tmp_path: Path, tasks: str, message: str) -> None:
    with pytest.raises(fs.ConfigError, match=rf"hall\.(tasks|json).*{message}"):
        fs.MultiRobotSimulationCore.from_yaml(league(tmp_path, tasks))


def released(sim: fs.MultiRobotSimulationCore, seconds: float) -> list[tuple[str, tuple[str, ...], float]]:
    """What comes in `seconds`."""
    sim.run_simulation(duration=seconds)
    orders = orders_of(sim)
    return [(name, orders.status(name).stops, orders.status(name).released) for name in orders.names]


@pytest.mark.slow
def test_arrivals_depend_on_the_seed_alone(tmp_path: Path) -> None:
    stream = {"per_hour": [360.0], "load": [1.0, 5.0], "due_after": 60.0}
    seen = []
    for entry in ({"arrivals": [stream]}, {"arrivals": [stream], "list": [{"pick": "gate", "drop": "dock"}]}):
        with depot(tmp_path, entry) as sim:
            came = [order for order in released(sim, 300.0) if order[0].startswith("arrival")]
            sim.reset()
            assert [order for order in released(sim, 300.0) if order[0].startswith("arrival")] == came
            seen.append(came)
            assert orders_of(sim).status("arrival_0").due == pytest.approx(came[0][2] + 60.0, abs=0.1)
    assert seen[0] == seen[1]
    assert 15 < len(seen[0]) < 50


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ({}, "per_hour: missing"),
        ({"per_hour": [1.0, 2.0]}, "per_hour: expected 1 or 24 numbers, got 2"),
        ({"per_hour": [-1.0]}, r"per_hour\[0\]: must be"),
        ({"per_hour": [1.0], "pick": {"shelf": 1.0}}, "pick: unknown station 'shelf'"),
        ({"per_hour": [1.0], "pick": {"shelf_a": 0.0}}, "pick: no station of the site has a weight above 0"),
        ({"per_hour": [1.0], "pick": {"dock": 1.0}, "drop": {"dock": 1.0}}, "pick and drop: orders lead from one"),
        ({"per_hour": [1.0], "load": [3.0, 1.0]}, "load: expected the smaller one first"),
    ],
)
def test_wrong_arrivals_are_errors_with_the_key(tmp_path: Path, stream: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.ConfigError, match=rf"scenario.yaml: orders.arrivals\[0\].*{message}"):
        depot(tmp_path, {"arrivals": [stream]})


@pytest.mark.parametrize("stopped", ["dock", "shelf_a"])
def test_a_weight_of_zero_takes_a_station_out(tmp_path: Path, stopped: str) -> None:
    # The only place to go is also one to come from: its load is taken from elsewhere, and from no place of weight 0.
    ends = {"shelf_a": 1.0, "shelf_b": 1.0, stopped: 0.0}
    stream = {"per_hour": [600.0], "pick": ends, "drop": {stopped: 0.0, "shelf_b": 1.0}}
    if stopped == "shelf_a":
        stream["pick"] = {"pick": 1.0, "dock": 1.0, stopped: 0.0}
    with depot(tmp_path, {"arrivals": [stream]}, at=[], timestep=10.0) as sim:
        came = [stops for _, stops, _ in released(sim, 600.0)]
    assert len(came) > 50
    assert {stops[1] for stops in came} == {"shelf_b"}
    assert not {stops[0] for stops in came} & {stopped, "shelf_b"}


def test_arrivals_between_one_station_with_a_weight_are_refused(tmp_path: Path) -> None:
    stream = {"per_hour": [1.0], "pick": {"dock": 1.0, "shelf_a": 0.0}, "drop": {"dock": 1.0, "shelf_b": 0.0}}
    with pytest.raises(fs.ConfigError, match="pick and drop: orders lead from one station to another, these are one"):
        depot(tmp_path, {"arrivals": [stream]})


def test_arrivals_that_no_robot_takes_are_counted(tmp_path: Path) -> None:
    stream = {"per_hour": [360.0], "load": [500.0, 600.0]}
    with depot(tmp_path, {"arrivals": [stream]}) as sim:
        sim.run_simulation(duration=300.0)
        assert orders_of(sim).refused > 10
        assert len(orders_of(sim)) == 0
