"""Wrong orders are refused with the reason, counted, and move nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depot import depot, orders_of

import fleet_sim as fs
from fleet_sim.apps.cli.main import main

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
