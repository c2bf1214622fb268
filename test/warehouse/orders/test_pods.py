"""Goods to person: what robots do with pods, recomputed from where pods and robots are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pod_floor import STORAGE, FirstPod, PodWatch, Recorded, scenario

import fleet_sim as fs
from fleet_sim.warehouse.orders import Orders, OrderState

ONE = {"list": [{"id": "shelf", "at": [4.5, 2.5], "stock": {"tea": 5, "nuts": 5}}]}


def orders_of(sim: fs.MultiRobotSimulationCore) -> Orders:
    orders: Orders = sim.get_manager("orders")
    return orders


def run_until(watch: PodWatch, reached: Callable[[], bool], most: float = 400.0) -> None:
    end = watch.clock.time + most
    while not reached():
        assert watch.clock.time < end, "it does not happen"
        watch.step()


def demand(name: str) -> dict[str, Any]:
    return {"name": name, "per_hour": [36000], "end": 2, "lines": [1, 3], "quantity": [1, 3]}


@pytest.mark.slow
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 2**31),
    st.sampled_from(["nearest", "most_lines"]),
    st.sampled_from(["original", "nearest"]),
    st.booleans(),
)
def test_items_are_conserved_and_pods_keep_apart(
    tmp_path: Path, seed: int, choice: str, place: str, disturbed: bool
) -> None:
    pods: dict[str, Any] = {"count": 20, "skus": 12, "kinds": 3, "items": [2, 4], "queue": 2, "open_orders": 3}
    pods |= {"choice": {"type": choice}, "place": {"type": place}}
    pods["replenishment"] = {"type": "pod_floor.Recorded", "options": {"below": 0.9}}
    delays = {"delays": {"probability": 0.02, "shortest": 1, "longest": 4}} if disturbed else {}
    Recorded.ordered = 0
    with scenario(
        tmp_path, pods, simulation={"seed": seed}, traffic={"disturbances": delays}, orders={"arrivals": [demand("a")]}
    ) as sim:
        watch, orders = PodWatch(sim), orders_of(sim)
        first = orders.figures()["pods"]["stock"]["supplied"]
        for _ in range(2000):
            watch.step()
            if sim.sim_time > 3.0 and orders.counts[OrderState.DONE] == len(orders):
                break
        assert orders.counts[OrderState.DONE] == len(orders) > 5
        figures = orders.figures()["pods"]
        asked = sum(count for order in orders.book.orders for _, count in order.lines)
        assert figures["stock"]["picked"] == asked
        assert figures["stock"]["supplied"] == first + Recorded.ordered
        assert figures["items_filled"] == Recorded.ordered - figures["stock"]["coming"]
        assert figures["lines_done"] == sum(len(order.lines) for order in orders.book.orders)
        assert watch.lifted
        assert watch.under > 0
        assert watch.started == []
        assert sim.get_manager("traffic").figures()["refusals"] == 0


def test_a_pod_is_carried_to_a_workstation_served_and_stored_again(tmp_path: Path) -> None:
    pods = {**ONE, "place": {"type": "original"}, "replenishment": {"type": "never"}}
    with scenario(tmp_path, pods) as sim:
        watch, orders, heard = PodWatch(sim), orders_of(sim), []
        sim.events.on("order_changed", lambda order, before, state, robot: heard.append((order, str(state))))
        orders.submit(id="a", lines={"tea": 2, "nuts": 1}, drop="right")
        orders.submit(id="b", lines={"tea": 3}, drop="right")
        run_until(watch, lambda: orders.counts[OrderState.DONE] == 2)
        assert sorted(heard) == sorted((name, state) for state in ("assigned", "picking", "done") for name in "ab")
        first = orders.status("a")
        assert first.stops == ("right",)
        assert first.robot.startswith("amr")
        shelf = sim.get_object("shelf")
        assert np.allclose(shelf.get_pose().position[:2], (0.5, 6.5), atol=1e-6)
        run_until(watch, lambda: orders.figures()["pods"]["visits"] == 1)
        assert np.allclose(shelf.get_pose().position[:2], (4.5, 2.5), atol=1e-6)
        figures = orders.figures()
        assert figures["pods"]["items_per_visit"] == 6.0
        assert figures["pods"]["stock"] == {"on_pods": 4, "coming": 0, "picked": 6, "gone": 0, "supplied": 10}
        assert 0.0 < figures["pods"]["station_idle_s"]["right"] < figures["pods"]["station_idle_s"]["left"]
        assert figures["robots"]["driven_loaded_m"] > 0.0
        # All is gone that was left of the tea.
        with pytest.raises(fs.InvalidValueError, match="1 items of 'tea' are asked for, 0 are left"):
            orders.submit(lines={"tea": 1})
        assert (orders.refused, orders.figures()["pods"]["refused_for_stock"]) == (1, 1)


@pytest.mark.parametrize("go_on", [True, False])
def test_a_pod_goes_on_to_another_station_that_needs_it(tmp_path: Path, go_on: bool) -> None:
    pods = {**ONE, "place": {"type": "original"}, "replenishment": {"type": "never"}, "go_on": go_on}
    with scenario(tmp_path, pods) as sim:
        watch, orders = PodWatch(sim), orders_of(sim)
        orders.submit(id="a", lines={"tea": 2}, drop="right")
        orders.submit(id="b", lines={"nuts": 3}, drop="left")
        run_until(watch, lambda: orders.counts[OrderState.DONE] == 2)
        run_until(watch, lambda: orders.figures()["pods"]["visits"] == (1 if go_on else 2))
        figures = orders.figures()["pods"]
        assert (figures["went_on"], figures["items_per_visit"]) == ((1, 5.0) if go_on else (0, 2.5))
        # Who went on has made room at the station that it left.
        assert all(bench.owner < 0 and not bench.queue for bench in orders.pods.counter.benches.values())
        assert np.allclose(sim.get_object("shelf").get_pose().position[:2], (4.5, 2.5), atol=1e-6)


def test_an_order_waits_for_stock_until_it_comes_in(tmp_path: Path) -> None:
    with scenario(tmp_path, {**ONE, "capacity": 20, "replenishment": {"type": "threshold"}}) as sim:
        watch, orders = PodWatch(sim), orders_of(sim)
        name = orders.submit(lines={"nuts": 8})
        watch.step()
        assert "not enough items of 'nuts'" in orders.status(name).reason
        assert orders.figures()["pods"]["orders_short"] == 1
        run_until(watch, lambda: orders.status(name).state is OrderState.DONE)
        assert orders.figures()["pods"]["fills"] == 1


def test_a_cancelled_order_leaves_the_rest_on_the_pod(tmp_path: Path) -> None:
    with scenario(tmp_path, {**ONE, "replenishment": {"type": "never"}}) as sim:
        watch, orders = PodWatch(sim), orders_of(sim)
        late = orders.submit(lines={"tea": 1}, release=1000.0)
        name = orders.submit(lines={"tea": 2, "nuts": 4})
        run_until(watch, lambda: orders.status(name).state is OrderState.PICKING)
        orders.cancel(name, "not needed")
        orders.cancel(late)
        run_until(watch, lambda: orders.figures()["pods"]["visits"] == 1)
        assert orders.status(name).state is OrderState.CANCELLED
        assert orders.figures()["pods"]["stock"]["picked"] in (2, 4)
        orders.submit(id="next", lines={"nuts": 1})
        run_until(watch, lambda: orders.status("next").state is OrderState.DONE)


def test_who_is_removed_or_leaves_with_a_pod_strands_it(tmp_path: Path) -> None:
    pods = {"list": [*ONE["list"], {"id": "other", "at": [7.5, 2.5], "stock": {"tea": 9}}]}
    with scenario(tmp_path, {**pods, "replenishment": {"type": "never"}}) as sim:
        watch, orders = PodWatch(sim), orders_of(sim)
        orders.submit(id="a", lines={"tea": 8})
        run_until(watch, lambda: len(watch.lifted) == 1)
        run_until(watch, lambda: sim.get_object(next(iter(watch.lifted))).get_pose().position[0] < 2.0)
        shelf = sim.get_object(next(iter(watch.lifted)))
        (carrier,) = [agent for agent in sim.agents if shelf in agent.get_attached_objects()]
        sim.remove_object(carrier)
        assert shelf.get_pose().position[2] == pytest.approx(0.4 + 0.7)
        for _ in range(300):
            sim.step_once()
        figures = orders.figures()["pods"]
        assert figures["stranded"] == 1
        stock = figures["stock"]
        assert stock["gone"] > 0
        assert stock["on_pods"] + stock["picked"] + stock["gone"] == stock["supplied"]
        sim.remove_object(shelf)
        sim.step_once()
        assert orders.figures()["pods"]["stranded"] == 0


def test_a_robot_that_rests_with_a_pod_works_again_when_that_is_removed(tmp_path: Path) -> None:
    pods = {"list": [*ONE["list"], {"id": "other", "at": [7.5, 2.5], "stock": {"nuts": 9}}]}
    one = {"robot": {"at": {"site": "free", "count": 1, "seed": 1}}, "orders": {"retry_after": 60.0}}
    with scenario(tmp_path, {**pods, "replenishment": {"type": "never"}}, **one) as sim:
        watch, orders, traffic = PodWatch(sim), orders_of(sim), sim.get_manager("traffic")
        orders.submit(id="a", lines={"tea": 1})
        run_until(watch, lambda: len(watch.lifted) == 1)
        # With a pod it drives nowhere outside of the traffic: it rests, and would try again after a minute.
        traffic.leave(sim.agents[0])
        sim.step_once()
        sim.remove_object(sim.get_object(next(iter(watch.lifted))))
        sim.step_once()
        traffic.enroll(sim.agents[0])
        orders.submit(id="b", lines={"nuts": 1})
        while orders.status("b").state is not OrderState.DONE and sim.sim_time < 200.0:
            sim.step_once()
        assert orders.status("b").state is OrderState.DONE


def test_a_busy_floor_goes_on_from_states_in_the_same_way(tmp_path: Path) -> None:
    """What orders, pods, chargers, the traffic and its disturbances remember shows minutes later only."""
    pods = {"count": 16, "skus": 8, "items": [3, 6], "replenishment": {"type": "threshold", "options": {"below": 0.9}}}
    arrivals = [demand("a"), {"per_hour": [900], "lines": [1, 3], "quantity": [1, 3], "due_after": 60}]
    trouble = {"delays": {"probability": 0.02, "shortest": 1, "longest": 4}, "breakdowns": {"probability": 0.001}}
    with scenario(
        tmp_path,
        pods,
        robot={"battery": {"capacity_wh": 1.0, "level": 0.35, "drive_energy": 20, "charge_power": 200}},
        traffic={"disturbances": trouble},
        orders={"arrivals": arrivals, "charging": {"policy": "opportunity"}, "idle": "park"},
    ) as sim:
        sim.run_simulation(duration=40.0)
        saved, file, seen = sim.save_state(), tmp_path / "floor.state", []
        sim.save_state(file)
        for go_back in (None, lambda: sim.restore_state(saved), lambda: sim.load_state(file), sim.reset):
            if go_back is not None:
                go_back()
            sim.run_simulation(duration=120.0 - sim.sim_time)
            figures, traffic = orders_of(sim).figures(), sim.get_manager("traffic").figures()
            seen.append((sim.state_hash(), figures, traffic["delays"]))
        assert all(one == seen[0] for one in seen)
        assert figures["pods"]["visits"] and figures["orders"]["done"] and traffic["delays"], "something happens"


def test_own_policies_are_asked_and_checked(tmp_path: Path) -> None:
    own = {"choice": {"type": "pod_floor.FirstPod"}, "place": {"type": "pod_floor.Nowhere"}}
    with scenario(tmp_path, {**ONE, **own}) as sim:
        watch, orders = PodWatch(sim), orders_of(sim)
        orders.submit(id="a", lines={"tea": 1})
        run_until(watch, lambda: orders.figures()["pods"]["visits"] == 1)
        assert FirstPod.asked[0].lines.tolist() == [1]
        assert orders.figures()["pods"]["storage_waits"] == 1
    wrong = {key: {"type": "pod_floor.Wrong"} for key in ("choice", "replenishment")}
    with scenario(tmp_path, {**ONE, **wrong}) as sim:
        orders = orders_of(sim)
        orders.submit(id="a", lines={"tea": 1})
        sim.run_simulation(duration=5.0)
        assert orders.status("a").state is OrderState.ASSIGNED
        counts = sim.world.guard.counts
        assert all(any(name.startswith(part) for name in counts) for part in ("pod choice", "replenishment policy"))


def test_orders_of_lines_come_from_files_too(tmp_path: Path) -> None:
    (tmp_path / "today.csv").write_text("id,lines,drop,priority\na,tea:2|nuts:1,left,3\n\nb,tea:1,,\n")
    with scenario(tmp_path, ONE, orders={"file": "today.csv", "list": [{"id": "c", "lines": {"nuts": 1}}]}) as sim:
        orders = orders_of(sim)
        assert [order.lines for order in orders.book.orders] == [
            (("nuts", 1),),
            (("tea", 2), ("nuts", 1)),
            (("tea", 1),),
        ]
        watch = PodWatch(sim)
        run_until(watch, lambda: orders.counts[OrderState.DONE] == 3)
        assert orders.status("a").stops == ("left",)


def test_a_robot_that_is_higher_than_the_legs_drives_around_pods(tmp_path: Path) -> None:
    tall = {"shape": {"shape_type": "cylinder", "radius": 0.3, "height": 0.9}, "pose": [0.0, 0.0, 0.45]}
    places = {"at": {"site": "free", "count": 1, "seed": 3}}
    with scenario(tmp_path, {"count": 20, "skus": 4}, robot=tall | places) as sim:
        sim.run_simulation(duration=1.0)
        traffic, (agent,) = sim.get_manager("traffic"), sim.agents
        assert traffic.bars.is_wide(agent)
        orders_of(sim).submit(id="a", lines={"sku_1": 1})
        sim.run_simulation(duration=5.0)
        assert orders_of(sim).status("a").state is OrderState.ASSIGNED


# ---- What cannot be with pods is refused, with the reason ------------------------------------------------------------


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
        ({"list": [POD], "skus": ["tea", "tea"]}, "names must be unique"),
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
        ({"planner": "lacam"}, {}, "planner 'lacam' .*wide.* use pibt"),
        ({}, {"storage": [[3, 1, 9, 4]]}, r"from the storage place \(5.5, 3.5\) to the station .* leave an aisle"),
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
