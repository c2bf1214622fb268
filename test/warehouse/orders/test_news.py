"""What those who follow orders are told: each new order and each change, and after a reset what there is then."""

from __future__ import annotations

from pathlib import Path

from depot import depot, orders_of, run_until

from fleet_sim.warehouse.orders import OrderState
from fleet_sim.warehouse.orders.desk import OrderNews

FIRST = {"id": "first", "pick": "shelf_a", "drop": "dock"}
LATER = {"id": "later", "pick": "shelf_b", "drop": "gate", "release": 1000.0}


def told(news: OrderNews, most: int = 100) -> list[tuple[str, str]]:
    """Return the ids and states that are told now."""
    return [(status.id, status.state.value) for status in news.take(most)]


def test_new_and_changed_orders_are_told_once(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [FIRST, LATER]}) as sim:
        orders = orders_of(sim)
        news = OrderNews(sim.features.use("orders"), sim.events)
        assert told(news) == [("first", "waiting"), ("later", "waiting")]
        run_until(sim, lambda: orders.status("first").state is OrderState.DONE)
        name = orders.submit(pick="shelf_a", drop="gate", release=1000.0)
        # The many changes of one order are one.
        assert told(news) == [("first", "done"), (name, "waiting")]
        assert told(news) == []
        news.close()
        orders.cancel("later")
        assert told(news) == []


def test_no_more_are_told_at_a_time_than_asked_for(tmp_path: Path) -> None:
    entries = [{**LATER, "id": f"order_{number}"} for number in range(5)]
    with depot(tmp_path, {"list": entries}) as sim:
        news = OrderNews(sim.features.use("orders"), sim.events)
        assert [len(told(news, 2)) for _ in range(4)] == [2, 2, 1, 0]


def test_new_listeners_hear_of_open_orders_only(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [FIRST, LATER]}) as sim:
        news = OrderNews(sim.features.use("orders"), sim.events)
        orders_of(sim).cancel("first")
        news.begin_anew()
        assert told(news) == [("later", "waiting")]


def test_a_reset_or_a_restored_state_is_told_of(tmp_path: Path) -> None:
    with depot(tmp_path, {"list": [FIRST]}) as sim:
        news = OrderNews(sim.features.use("orders"), sim.events)
        sim.events.on("reset", news.begin_anew)
        sim.step_once()
        saved = sim.save_state()
        extra = orders_of(sim).submit(LATER)
        orders_of(sim).cancel("first")
        assert told(news) == [("first", "cancelled"), (extra, "waiting")]
        sim.restore_state(saved)
        assert told(news) == [("first", orders_of(sim).status("first").state.value)]
        orders_of(sim).submit(LATER)
        sim.reset()
        assert told(news) == [("first", "waiting")]
