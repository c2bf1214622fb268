"""What messages may hold: kinds of fields, shapes, orders and zone sets, and what is said of those that break them."""

from __future__ import annotations

import json
import math
import os
from copy import deepcopy
from typing import Any

import pytest
from master_control import action, line, node, status
from vehicle_bench import VehicleBench, scenario

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.warehouse.vda5050.address import PASSWORD, BrokerAddress
from fleet_sim.warehouse.vda5050.messages import (
    ANGLE,
    DEEPEST,
    LONGEST_ID,
    MalformedMessage,
    WireMany,
    WireNumber,
    WireShape,
    WireText,
    WireTruth,
    WireValue,
    maybe,
)
from fleet_sim.warehouse.vda5050.order import Refused, order_of, zone_set_of
from fleet_sim.warehouse.vda5050.reports import VehicleBody, VehicleOutbox
from fleet_sim.warehouse.vda5050.vehicle import read_level, read_serials
from fleet_sim.world.commands import Remove, Spawn

SHAPE = WireShape(
    name=WireText(),
    count=WireNumber(0, 10, whole=True),
    speed=maybe(WireNumber(), "maxSpeed", "speed"),
    on=maybe(WireTruth()),
    kind=maybe(WireText({"one": "ONE", "two": "TWO"})),
)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_a_shape_reads_by_our_names_and_writes_by_those_of_the_message() -> None:
    message = {"name": "a", "count": 3.0, "maxSpeed": 2, "kind": "TWO", "unknown": 1}
    values = SHAPE.read(message)
    assert values == {"name": "a", "count": 3, "speed": 2.0, "kind": "two"}
    assert isinstance(values["count"], int)
    assert SHAPE.write(values) == {"name": "a", "count": 3, "maxSpeed": 2.0, "kind": "TWO"}


def test_what_is_rounded_stays_within_its_limits() -> None:
    # A vehicle that looks exactly to the west: readers that check the standard's half a turn would drop its states.
    shape = WireShape(theta=ANGLE)
    for heading in (math.pi, -math.pi):
        written = shape.write({"theta": heading})
        assert shape.read(written) == {"theta": heading}
        assert abs(written["theta"]) <= 3.14159265359
    assert shape.write({"theta": 1.23456789}) == {"theta": 1.234568}


def test_another_name_is_understood_and_the_name_of_the_standard_wins() -> None:
    assert SHAPE.read({"name": "a", "count": 0, "speed": 5})["speed"] == 5.0
    assert SHAPE.read({"name": "a", "count": 0, "speed": 5, "maxSpeed": 1})["speed"] == 1.0


def test_a_shape_of_another_version_is_made_from_one() -> None:
    later = SHAPE.but(removed=("on",), renamed={"speed": "maximumSpeed"}, color=WireText())
    assert later.read({"name": "a", "count": 0, "maximumSpeed": 1, "color": "red", "on": 3}) == {
        "name": "a",
        "count": 0,
        "speed": 1.0,
        "color": "red",
    }
    assert "color" not in SHAPE.read({"name": "a", "count": 0, "color": 3})


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ([], "expected an object, got"),
        ({"count": 1}, "name: is missing"),
        ({"name": 3, "count": 1}, f"name: expected a text of at most {LONGEST_ID} characters, got 3"),
        ({"name": "a" * (LONGEST_ID + 1), "count": 1}, "name: expected a text of at most"),
        ({"name": "a", "count": 1.5}, "count: expected a whole number from 0 to 10, got 1.5"),
        ({"name": "a", "count": 11}, "count: expected a whole number from 0 to 10, got 11"),
        ({"name": "a", "count": True}, "count: expected a whole number"),
        ({"name": "a", "count": None}, "count: expected a whole number"),
        ({"name": "a", "count": 1, "maxSpeed": math.nan}, "maxSpeed: expected a number from"),
        ({"name": "a", "count": 1, "maxSpeed": 10**400}, "maxSpeed: expected a number from"),
        ({"name": "a", "count": 1, "on": 1}, "on: expected true or false, got 1"),
        ({"name": "a", "count": 1, "kind": "two"}, "kind: expected one of ONE, TWO, got 'two'"),
    ],
)
def test_what_breaks_a_shape_is_named_with_its_field(message: Any, reason: str) -> None:
    with pytest.raises(MalformedMessage) as raised:
        SHAPE.read(message)
    assert str(raised.value).startswith(reason)


def test_a_message_is_not_sent_without_what_it_needs() -> None:
    with pytest.raises(InvalidValueError, match="a message needs 'count'; given are name, on"):
        SHAPE.write({"name": "a", "on": True})


def test_values_of_parameters_are_bounded() -> None:
    kind = WireValue()
    assert kind.read(nested(DEEPEST), "value") == nested(DEEPEST)
    assert kind.read({"a": [1, None]}, "value") == {"a": [1, None]}
    for value, reason in (
        (nested(DEEPEST + 1), f"value: nested deeper than {DEEPEST}"),
        (math.inf, "value: expected a finite number"),
        ([1, {"a": math.nan}], "value: expected a finite number"),
        (None, "value: expected a text, number"),
    ):
        with pytest.raises(MalformedMessage, match=reason):
            kind.read(value, "value")
    with pytest.raises(MalformedMessage, match="expected a text, number, truth value or list"):
        WireValue(objects=False).read({"a": 1}, "value")


def test_lists_are_bounded_and_their_items_are_counted() -> None:
    kind = WireMany(WireNumber(0, 1), most=3, least=1)
    assert kind.read([0, 1], "list") == [0.0, 1.0]
    for value, reason in (
        ([], "list: expected a list of 1 to 3, got 0 of them"),
        ([0] * 4, "list: expected a list of 1 to 3, got 4 of them"),
        ("ab", "list: expected a list of 1 to 3, got 'ab'"),
        ([0, 7], r"list\[1\]: expected a number from 0 to 1, got 7"),
    ):
        with pytest.raises(MalformedMessage, match=reason):
            kind.read(value, "list")


# ---- orders ----------------------------------------------------------------------------------------------------------


def order(count: int = 3, first: int = 0) -> dict[str, Any]:
    """Return the checked values of an order along `count` nodes, all released."""
    nodes: list[dict[str, Any]] = [
        {"nodeId": f"n{index}", "sequenceId": first + 2 * index, "released": True, "actions": []}
        for index in range(count)
    ]
    edges: list[dict[str, Any]] = [
        {"edgeId": f"e{index}", "sequenceId": first + 2 * index + 1, "released": True, "actions": []}
        for index in range(count - 1)
    ]
    return {"orderId": "o", "orderUpdateId": 0, "nodes": nodes, "edges": edges}


def curve(**values: Any) -> dict[str, Any]:
    points = [{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}, {"x": 2.0, "y": 0.0}]
    return {"controlPoints": points, "degree": 2, **values}


def test_an_order_is_read_with_its_parts() -> None:
    values = order(first=4)
    values["nodes"][1]["nodePosition"] = {"x": 1.0, "y": 2.0, "mapId": "m", "allowedDeviationXY": 0.5}
    values["nodes"][2]["nodePosition"] = {
        **{"x": 3.0, "y": 4.0, "theta": 1.0, "mapId": "m"},
        "allowedDeviationXY": {"a": 1.0, "b": 2.0, "theta": 3.0},
    }
    values["edges"][0] |= {"orientation": 0.5, "orientationType": "GLOBAL", "maxHeight": 2.0, "trajectory": curve()}
    values["edges"][1]["corridor"] = {"leftWidth": 1.0, "rightWidth": 2.0, "corridorRefPoint": "CONTOUR"}
    found = order_of(values)
    assert [node.sequence for node in found.nodes] == [4, 6, 8]
    assert found.nodes[0].x is None
    assert found.nodes[1].deviation == (0.5, 0.5, 0.0)
    assert found.nodes[2].deviation == (1.0, 2.0, 3.0)
    first, second = found.edges
    assert first.is_global and not second.is_global
    assert first.extras == {"maxHeight": 2.0}
    assert second.corridor == (1.0, 2.0, True)
    assert first.trajectory is not None
    # Without knots the curve is clamped: it begins and ends at its first and last point.
    assert first.trajectory.knots == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert first.trajectory.points[1] == (1.0, 1.0, 1.0)


def test_the_digest_tells_another_order_from_a_repeated_one() -> None:
    values, other = order(), order()
    other["nodes"] = [dict(reversed(node.items())) for node in other["nodes"]]
    assert order_of(values).digest == order_of(other).digest
    other["nodes"][1]["nodeDescription"] = "another"
    assert order_of(values).digest != order_of(other).digest


def test_actions_are_in_the_order_in_which_they_are_passed() -> None:
    values = order()
    for name, part in zip("abc", (values["nodes"][1], values["edges"][0], values["nodes"][0]), strict=True):
        part["actions"] = [{"actionId": name, "actionType": "wait", "blockingType": "NONE"}]
    assert [action.action_id for action in order_of(values).actions()] == ["c", "b", "a"]


def _twice(values: dict[str, Any]) -> None:
    same = {"actionId": "a", "actionType": "wait", "blockingType": "NONE"}
    values["nodes"][0]["actions"], values["edges"][1]["actions"] = [same], [same]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda o: o["edges"].pop(), "edges: 3 nodes are joined by 2 edges, got 1"),
        (lambda o: (o["nodes"].clear(), o["edges"].clear()), "edges: 0 nodes are joined"),
        (lambda o: o["nodes"][1].update(sequenceId=3), r"nodes\[1\].sequenceId: expected 2, got 3"),
        (lambda o: o["edges"][1].update(sequenceId=5), r"edges\[1\].sequenceId: expected 3, got 5"),
        (lambda o: o["edges"][0].update(startNodeId="n1"), r"edges\[0\].startNodeId: expected 'n0', got 'n1'"),
        (lambda o: o["edges"][1].update(endNodeId="n0"), r"edges\[1\].endNodeId: expected 'n2', got 'n0'"),
        (lambda o: o["nodes"][0].update(released=False), r"nodes\[0\].released: the first node must be released"),
        (lambda o: o["nodes"][1].update(released=False), "released: what comes after sequence 2 must not be released"),
        (lambda o: o["nodes"][2].update(released=False), "released: an edge is released only with the nodes at both"),
        (_twice, "actionId: two actions are called 'a'"),
        (lambda o: o["edges"][0].update(trajectory=curve(knotVector=[0.0, 1.0])), "expected 6 knots, got 2"),
        (lambda o: o["edges"][0].update(trajectory=curve(knotVector=[0, 0, 1, 0.5, 1, 1])), "the knots must rise"),
        (lambda o: o["edges"][0].update(trajectory=curve(knotVector=[1.0] * 6)), "the knots must rise"),
        (
            lambda o: o["edges"][0].update(
                trajectory=curve(controlPoints=[{"x": float(x), "y": 0.0, "weight": -1.0} for x in range(3)])
            ),
            "weights must be above 0",
        ),
    ],
)
def test_orders_whose_parts_do_not_fit_are_malformed(change: Any, reason: str) -> None:
    values = deepcopy(order())
    change(values)
    with pytest.raises(MalformedMessage, match=reason):
        order_of(values)


# ---- zones, names and addresses --------------------------------------------------------------------------------------


def zones(**values: Any) -> dict[str, Any]:
    corners = [{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 0.0}, {"x": 0.0, "y": 1.0}]
    zone = {"zoneId": "z", "zoneType": "BLOCKED", "vertices": corners, **values}
    return {"zoneSetId": "s", "mapId": "m", "zones": [zone]}


def test_zones_are_read() -> None:
    (slow,) = zone_set_of(zones(zoneType="SPEED_LIMIT", maximumSpeed=0.5)).zones
    (release,) = zone_set_of(zones(zoneType="RELEASE", releaseLossBehavior="CONTINUE")).zones
    assert (slow.speed, slow.loss) == (0.5, "STOP")
    assert (release.speed, release.loss) == (math.inf, "CONTINUE")
    assert slow.corners == [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"zoneType": "DIRECTED"}, "zones of type DIRECTED are not supported, but BLOCKED, RELEASE, SPEED_LIMIT"),
        ({"zoneType": "SPEED_LIMIT"}, "a speed limit needs a maximumSpeed above 0"),
        ({"zoneType": "SPEED_LIMIT", "maximumSpeed": 0.0}, "a speed limit needs a maximumSpeed above 0"),
        ({"zoneType": "RELEASE", "releaseLossBehavior": "EVACUATE"}, "releaseLossBehavior: STOP and CONTINUE"),
    ],
)
def test_zones_that_vehicles_cannot_keep_to_are_refused(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        zone_set_of(zones(**values))


def test_levels_of_topics_and_serial_numbers() -> None:
    assert [read_level(value) for value in ("a-b.c:d_1", 3, 3.0)] == ["a-b.c:d_1", "3", "3"]
    assert read_serials({"a": 1, 2: "x"}) == {"a": "1", "2": "x"}
    for wrong in ("a/b", "", "#", True, 1.5, 2**60, "x" * 101, None):
        with pytest.raises(InvalidValueError, match="must be made of A-Z"):
            read_level(wrong)
    with pytest.raises(InvalidValueError, match="must be different for each robot"):
        read_serials({"a": 1, "b": "1"})
    with pytest.raises(InvalidValueError, match="must be a mapping of robots"):
        read_serials(["a"])


def test_addresses_of_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSWORD, raising=False)
    plain = BrokerAddress.parse("mqtt://broker")
    assert (str(plain), plain.user, plain.password) == ("mqtt://broker:1883", None, None)
    full = BrokerAddress.parse("mqtts://me:p%40ss@[::1]:99")
    assert (full.host, full.port, full.tls, full.user, full.password) == ("::1", 99, True, "me", "p@ss")
    assert full.password_in_url and "p@ss" not in str(full)
    monkeypatch.setenv(PASSWORD, "secret")
    asked = BrokerAddress.parse("mqtts://me@broker")
    assert (asked.port, asked.password, asked.password_in_url) == (8883, "secret", False)
    # Without a user nobody is told the password.
    assert BrokerAddress.parse("mqtt://broker").password is None


@pytest.mark.parametrize(
    ("url", "ca", "reason"),
    [
        ("broker", None, "expected mqtt://host:1883"),
        ("http://broker", None, "expected mqtt://host:1883"),
        ("mqtt://", None, "expected mqtt://host:1883"),
        ("mqtt://broker:99999", None, "expected mqtt://host:1883"),
        ("mqtt://broker/path", None, "got mqtt://broker/path"),
        ("mqtt://:secret@broker", None, "a password needs a user"),
        ("mqtt://broker", "ca.pem", "--vda5050-ca is for mqtts://"),
        ("mqtts://broker", "nowhere.pem", "--vda5050-ca: there is no file 'nowhere.pem'"),
    ],
)
def test_wrong_addresses_are_refused_and_no_password_is_shown(url: str, ca: str | None, reason: str) -> None:
    with pytest.raises(ConfigError) as raised:
        BrokerAddress.parse(url, ca)
    assert reason in str(raised.value)
    assert "secret" not in str(raised.value)


# ---- The schemas of the standard, which are not part of this project -------------------------------------------------


NEEDED = pytest.mark.skipif(
    not os.environ.get("VDA5050_SCHEMAS"),
    reason="VDA5050_SCHEMAS is not set: messages are checked against no schema of the standard, see docs/vda5050.md",
)


@NEEDED
@pytest.mark.parametrize("version", ["2.0", "2.1", "3.0"])
def test_states_fit_the_schema_of_their_version(version: str) -> None:
    bench = VehicleBench(scenario(version))
    bench.order(line("o", [(0.0, 0.0), (2.0, 0.0)]))
    # Each state that the bench returns is checked.
    bench.arrive("n1")
    assert bench.state()["orderId"] == "o"


# ---- Each setting of vehicles, changed: something else comes of it ---------------------------------------------------


def sent(seconds: float, **fleet: Any) -> list[VehicleBody]:
    """What a vehicle that stands sends in a time."""
    bench, found = VehicleBench(scenario(fleet=fleet)), list[VehicleBody]()
    outbox = VehicleOutbox(bench.desk, bench.sim.world, found.extend)
    for _ in range(round(seconds / bench.sim.clock.dt)):
        bench.sim.step_once()
        outbox.publish(bench.sim.clock.dt)
    for body in found:
        json.loads("{" + body.text)
    return found


def count(found: list[VehicleBody], topic: str) -> int:
    return sum(body.topic == topic for body in found)


def prefix(**fleet: Any) -> str:
    return VehicleBench(scenario(fleet=fleet)).vehicle.identity.prefix


def test_addresses() -> None:
    assert prefix() == "uagv/v2/fleet_sim/a"
    given = {"interface_name": "cell1", "manufacturer": 3.0, "serial_numbers": {"a": 17}, "version": 3.0}
    assert prefix(**given) == "cell1/v3/3/17"
    with pytest.raises(ConfigError, match="one address"):
        VehicleBench(scenario(robots=2, fleet={"serial_numbers": {"a": "b"}}))
    for wrong in (
        {"manufacturer": "a/b"},
        {"interface_name": "$SYS"},
        {"version": "1.1"},
        {"serial_numbers": {"a": "+"}},
    ):
        with pytest.raises(ConfigError):
            VehicleBench(scenario(fleet=wrong))


def test_a_robot_from_outside_that_cannot_be_a_vehicle_ends_no_run_and_takes_no_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = VehicleBench(scenario())
    other = {"shape": {"shape_type": "sphere", "radius": 0.1}, "pose": [0.0, 9.0, 0.1], "motion_mode": "ackermann"}
    same = {**other, "motion_mode": "differential", "pose": [5.0, 9.0, 0.1]}
    entries = ({**other, "name": "car"}, {**same, "name": "b c"}, {**same, "name": "b.c", "pose": [9.0, 9.0, 0.1]})
    bench.sim.inbox.put(Spawn(robots=entries).from_outside())
    for _ in range(3):
        bench.sim.step_once()
    assert [str(vehicle.agent.name) for vehicle in bench.desk.vehicles] == ["a", "b c"]
    assert "'car' is steered like a car" in caplog.text
    assert "robots 'b c' and 'b.c' have one address" in caplog.text
    assert len(caplog.records) == 2, "once each"
    # The address is free again.
    bench.sim.inbox.put(Remove(names=("b c",)))
    bench.sim.step_once()
    assert [str(vehicle.agent.name) for vehicle in bench.desk.vehicles] == ["a", "b.c"]


def test_rates() -> None:
    assert count(sent(4.0), "state") == 1
    assert count(sent(4.0, state_interval=0.5), "state") == 8
    assert count(sent(4.0), "visualization") == 0
    assert count(sent(4.0, visualization_rate=5.0), "visualization") == 20


def test_times_and_reach() -> None:
    load = {"name": "box", "pose": [0.5, 0.0, 0.1], "shape": {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}}
    ends = []
    for fleet in ({}, {"pick_time": 2.0}, {"drop_time": 2.0}, {"reach": 0.2}):
        bench = VehicleBench(scenario(objects=[load], fleet=fleet))
        place = node(0, 0.0, 0.0, actions=[action("pick", "p"), action("drop", "d")])
        bench.order({"orderId": "o", "orderUpdateId": 0, "nodes": [place], "edges": []})
        state = bench.run(lambda state: status(state, "d") in ("FINISHED", "FAILED"))
        ends.append((round(bench.sim.sim_time, 1), status(state, "p")))
    (usual, done), (slow_pick, _), (slow_drop, _), (_, failed) = ends
    assert (done, failed) == ("FINISHED", "FAILED")
    assert slow_pick == slow_drop == pytest.approx(usual + 1.5)


def test_who_takes_part() -> None:
    def names(robots: Any) -> list[str | None]:
        bench = VehicleBench(scenario(robots=3, fleet={"robots": robots}))
        return [vehicle.agent.name for vehicle in bench.desk.vehicles]

    assert names("all") == ["a", "b", "c"]
    assert names(["a", "[bc]"]) == ["a", "b", "c"]
    assert names(["c"]) == ["c"]
    given = scenario(robots=2)
    given["robots"][1]["vda5050"] = {"enabled": False}
    assert [vehicle.agent.name for vehicle in VehicleBench(given).desk.vehicles] == ["a"]
    bench = VehicleBench(scenario())
    bench.sim.population.spawn_robots([{**scenario()["robots"][0], "name": "later", "pose": [9.0, 9.0, 0.1]}])
    bench.sim.step_once()
    assert [vehicle.agent.name for vehicle in bench.desk.vehicles] == ["a", "later"]
