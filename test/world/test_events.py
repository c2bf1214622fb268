"""Event buses: a defined order, and handlers that do not disturb each other."""

from __future__ import annotations

import pytest

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.world.user_code import EntityEvents, EventBus, FaultGuard


def test_priority_first_then_order_of_registration() -> None:
    bus, called = EventBus(FaultGuard()), []
    for name, priority in (("late", 5), ("first", -1), ("a", 0), ("b", 0)):
        bus.on("e", lambda name=name: called.append(name), priority)
    bus.emit("e")
    assert called == ["first", "a", "b", "late"]


def test_a_failing_handler_does_not_stop_the_others() -> None:
    guard = FaultGuard()
    bus, called = EventBus(guard), []

    def fail(**details: object) -> None:
        raise OSError("no")

    bus.on("e", fail)
    bus.on("e", lambda **details: called.append(details))
    bus.emit("e", value=3)
    assert called == [{"value": 3}]
    assert guard.total == 1


def test_changes_while_emitting_count_from_the_next_time() -> None:
    bus, called = EventBus(FaultGuard()), []

    def once() -> None:
        called.append("once")
        bus.off("e", once)
        bus.on("e", lambda: called.append("new"))

    bus.on("e", once)
    bus.on("e", lambda: called.append("second"))
    bus.emit("e")
    assert called == ["once", "second"]
    bus.emit("e")
    assert called == ["once", "second", "second", "new"]


def test_forgetting() -> None:
    bus = EventBus(FaultGuard())
    handler = bus.on("a", print)
    bus.on("b", print)
    assert bus
    assert bus.has_handlers("a")
    assert bus.off("a", handler)
    assert not bus.off("a", handler)
    assert not bus.has_handlers("a")
    bus.clear("b")
    assert not bus
    bus.on("c", print)
    bus.clear()
    assert not bus


def test_a_handler_must_be_callable() -> None:
    with pytest.raises(InvalidValueError, match="handler of event 'a'"):
        EventBus(FaultGuard()).on("a", 3)  # type: ignore[arg-type]


def test_entities_have_buses_of_their_own() -> None:
    events, called = EntityEvents(FaultGuard()), []
    events.bus(7).on("e", lambda: called.append(7))
    events.bus(2).on("e", lambda: called.append(2))
    events.emit(7, "e")
    events.emit(1, "e")
    assert called == [7]
    assert events.listening("e") == [2, 7]
    assert len(events) == 2
    events.discard(7)
    assert events.listening("e") == [2]
