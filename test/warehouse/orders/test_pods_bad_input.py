"""What cannot be with pods is refused, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pod_floor import STORAGE, scenario

import fleet_sim as fs

POD = {"id": "a", "at": [4.5, 2.5], "stock": {"tea": 5}}


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        ({}, "list or count: give at least one pod"),
        ({"count": 2}, "skus: name the kinds of items"),
        ({"count": 25, "skus": 4}, "25 pods do not fit: the storage areas have 24 places"),
        ({"list": [{**POD, "at": [5.5, 4.5]}]}, r"list\[0\]: pod 'a' at \(5.5, 4.5\) is not on free space"),
        ({"list": [{**POD, "at": [1.5, 1.5]}]}, "is outside of the storage areas"),
        ({"list": [POD, {**POD, "id": "b"}]}, r"list\[1\]: pod 'b' at .* stands where 'a' does"),
        ({"list": [POD, {**POD, "at": [5.5, 2.5]}]}, "two pods have the id 'a'"),
        ({"list": [POD], "skus": ["teas"]}, "unknown sku 'tea'. Did you mean 'teas'"),
        ({"list": [{**POD, "stock": {"tea": 300}}]}, "pod 'a' holds 200 items, its stock has 300"),
        ({"list": [POD], "storage": [[20, 20, 30, 30]]}, r"storage\[0\]: no free cell has its middle"),
        ({"list": [POD], "storage": [[0, 2, 2, 3]]}, "station 'left' is on a storage place"),
        ({"count": 3, "skus": 4, "items": [60, 70]}, "4 kinds of up to 70 items are more than 200"),
        ({"count": 3, "skus": 4, "items": [7, 6]}, "items: expected the smaller number first"),
        ({"list": [POD], "choice": {"type": "most_line"}}, "unknown pod choice 'most_line'. Did you mean 'most_lines'"),
        ({"list": [POD], "place": {"type": "nearest", "options": {"far": 1}}}, "cannot be made with"),
        ({"list": [POD], "goods_in": ["goods_inn"]}, "unknown station 'goods_inn'. Did you mean 'goods_in'"),
        ({"list": [POD], "skus": ["tea", "tea"]}, "names differ from each other"),
        ({"list": [POD], "legs": 0}, "legs"),
    ],
)
def test_wrong_pods_are_errors_that_name_the_key(tmp_path: Path, pods: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.ConfigError, match=rf"scenario.yaml: orders.pods.*{message}"):
        scenario(tmp_path, pods)


@pytest.mark.parametrize(
    ("traffic", "pods", "message"),
    [
        ({"radius": 0.45}, {}, r"a robot with a pod has a radius of 0.4596 m, .* set traffic: {radius: 0.46}"),
        ({"planner": "prioritized"}, {}, "planner 'prioritized' .*wide.* use pibt"),
        (
            {},
            {"storage": [[3, 1, 9, 4]]},
            r"from the storage place \(5.5, 3.5\) to the station .* leave an aisle",
        ),
    ],
)
def test_a_traffic_in_which_pods_cannot_be_carried_is_refused(
    tmp_path: Path, traffic: dict[str, Any], pods: dict[str, Any], message: str
) -> None:
    given = {"list": [POD], "storage": STORAGE, **pods}
    with scenario(tmp_path, given, traffic=traffic) as sim, pytest.raises(fs.InvalidValueError, match=message):
        sim.step_once()


def test_pods_without_a_traffic_are_an_error(tmp_path: Path) -> None:
    with scenario(tmp_path, {"list": [POD]}, traffic={"robots": "none"}) as sim:
        # Its robots may come later.
        sim.run_simulation(duration=2.0)
    with scenario(tmp_path, {"list": [POD]}) as sim:
        sim.unregister_manager(sim.get_manager("traffic"))
        with pytest.raises(fs.StateError, match="add a section 'traffic'"):
            sim.step_once()


def test_orders_that_pods_cannot_serve_are_refused_and_counted(tmp_path: Path) -> None:
    with scenario(tmp_path, {"list": [POD], "capacity": 50}) as sim:
        orders = sim.get_manager("orders")
        for settings, error, message in (
            ({"lines": {"coffee": 1}}, fs.UnknownNameError, "unknown sku 'coffee'"),
            ({"lines": {"tea": 51}}, fs.InvalidValueError, "51 items of 'tea' are asked for, 50 fit on all pods"),
            ({"lines": {"tea": 1}, "drop": "plug"}, fs.InvalidValueError, "'plug' is not a workstation"),
            ({"lines": {"tea": 1}, "drop": "lefd"}, fs.UnknownNameError, "Did you mean 'left'"),
            ({"lines": {"tea": 1}, "pick": "left"}, fs.ConfigError, "pick: an order of lines has none"),
            ({"lines": {"tea": 1}, "load": 3.0}, fs.ConfigError, "load: an order of lines has none"),
            ({"lines": {"tea": 1}, "drop_time": 0.0}, fs.ConfigError, "drop_time: an order of lines has none"),
            ({"lines": {"tea": 0}}, fs.ConfigError, "tea: must be a whole number from 1"),
            ({"lines": [["tea", 1], ["tea", 2]]}, fs.ConfigError, "each sku once"),
        ):
            with pytest.raises(error, match=message):
                orders.submit(settings)
        assert (len(orders), orders.refused) == (0, 9)
        assert orders.figures()["pods"]["refused_for_stock"] == 1
    with (
        scenario(tmp_path, {"list": [POD]}, orders={"pods": None}) as sim,
        pytest.raises(fs.InvalidValueError, match="has lines, and there are no pods"),
    ):
        sim.get_manager("orders").submit(lines={"tea": 1})


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ({"lines": [1, 2]}, "2 of different skus are asked for, of 1"),
        ({"lines": [1, 1], "skus": {"coffee": 1}}, "unknown sku 'coffee'"),
        ({"lines": [1, 1], "load": [1, 2]}, "load: orders of lines have none"),
        ({"lines": [1, 1], "quantity": [2, 1]}, "quantity: expected the smaller number first"),
    ],
)
def test_wrong_streams_of_lines_are_errors(tmp_path: Path, stream: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.ConfigError, match=rf"orders.arrivals\[0\].*{message}"):
        scenario(tmp_path, {"list": [POD]}, orders={"arrivals": [{"per_hour": [10], **stream}]})


@pytest.mark.parametrize("text", ["tea", "tea:1.5", ":3", "tea:"])
def test_wrong_lines_in_files_are_errors_with_the_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "today.csv").write_text(f"id,lines\na,{text}\n")
    with pytest.raises(fs.ConfigError, match=r"today.csv: line 2.lines: must be skus with numbers of items"):
        scenario(tmp_path, {"list": [POD]}, orders={"file": "today.csv"})
