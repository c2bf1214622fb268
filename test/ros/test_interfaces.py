"""Interfaces and actions of ROS: ours in their order, and those of others after them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hosted_node import hosted_node

import fleet_sim as fs
import fleet_sim.ros
import fleet_sim.warehouse
from fleet_sim.ros.action_kinds import KINDS, ActionInterface
from fleet_sim.ros.actions import ActionKind
from fleet_sim.ros.interface import Interface
from fleet_sim.ros.node import INTERFACES, FleetSimNode, in_order
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.tf import ClockTopic


class Buttons(Interface):
    """Stops the fleet when it is told to, as a third party's interface would."""

    calls: list[str] = []  # noqa: RUF012

    def on_fleet_changed(self, roster: Roster) -> None:
        self.calls.append(f"fleet {roster.names}")

    def receive(self) -> None:
        self.bridge.gateway.take("buttons", lambda: fs.Stop(source="buttons"))

    def publish(self, now: int) -> None:
        self.calls.append(f"publish {now}")

    def on_reset(self) -> None:
        self.calls.append("reset")


@pytest.fixture
def node() -> Iterator[FleetSimNode]:
    """A node with one robot, an interface and an action of somebody else's."""
    Buttons.calls.clear()
    INTERFACES.register("buttons", Buttons)
    KINDS.register("dance", replace(KINDS["move_to"], name="dance"))
    try:
        with hosted_node("-p", "robots:=1") as made:
            yield made
    finally:
        INTERFACES.unregister("buttons")
        KINDS.unregister("dance")


def test_no_node_offers_a_service_that_it_cannot_answer(node: FleetSimNode) -> None:
    of_robots = dict(node.get_service_names_and_types_by_node("_fleet_sim_robots", "/"))
    assert of_robots == {}


def test_a_node_without_parameter_services_is_hidden_from_who_lists_parameters(node: FleetSimNode) -> None:
    ours = [name for name in node.get_node_names() if name.endswith("fleet_sim_robots")]
    assert ours == ["_fleet_sim_robots"]


def test_what_others_add_comes_after_ours(node: FleetSimNode) -> None:
    order = in_order()
    ours = [place for place, kind in enumerate(order) if kind.__module__.startswith("fleet_sim.ros.")]
    # Those of features, which are entry points, come after ours too.
    assert order[0] is ClockTopic and order.index(Buttons) > max(ours)
    with pytest.raises(fs.InvalidValueError, match="a class derived from Interface"):
        INTERFACES.register("nonsense", int)  # type: ignore[type-var]


def test_an_interface_of_others_is_one_of_the_node(node: FleetSimNode) -> None:
    sim = node.simulation
    log = fs.record_commands(sim)
    sim.step_once()
    assert Buttons.calls[:2] == ["fleet ('robot_0',)", "publish 0"]
    assert [(type(entry.command), entry.command.source, entry.tick) for entry in log.entries] == [
        (fs.Stop, "buttons", 0)
    ], "what an interface takes is applied in the same step"
    sim.inbox.put(fs.Reset())
    sim.step_once()
    assert "reset" in Buttons.calls


def test_an_action_of_others_is_served_for_the_fleet_and_each_robot(node: FleetSimNode) -> None:
    served = {name for name, _ in node.get_service_names_and_types_by_node("fleet_sim", "/")}
    assert {"/fleet/dance/_action/send_goal", "/robot_0/dance/_action/send_goal"} <= served


def derived(cls: type) -> set[type]:
    return set().union({cls}, *map(derived, cls.__subclasses__()))


def test_every_interface_and_action_of_ours_is_listed() -> None:
    kinds = []
    packages = (fleet_sim.ros, fleet_sim.warehouse)
    for info in (one for made in packages for one in pkgutil.walk_packages(made.__path__, f"{made.__name__}.")):
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            # Those of packages that are not installed; all of ours are there.
            if error.name is None or error.name.startswith("fleet_sim"):
                raise
            continue
        kinds += [value for value in vars(module).values() if isinstance(value, ActionKind)]
    assert {kind.name for kind in kinds} == set(KINDS.registered())
    listed = set(INTERFACES.all().values())
    ours = {cls for cls in derived(Interface) if cls.__module__.startswith("fleet_sim.")}
    bases = {base for cls in ours for base in cls.__mro__[1:]}
    # The node itself makes the one that serves all kinds of actions.
    assert ours - bases - {ActionInterface} == listed
