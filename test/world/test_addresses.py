"""Names that know their rows: plain names to everybody else, and never a way to the wrong entity."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, SetVelocity
from fleet_sim.world.names import NamedRows

FORWARD = {"linear": [[1.0, 0.0, 0.0]] * 2, "angular": [[0.0, 0.0, 0.0]] * 2}


def pair(sim: MultiRobotSimulationCore) -> NamedRows:
    """Two robots a and b, by name and row."""
    rows = [sim.spawn(AgentSpawnParams(name=name)).row for name in "ab"]
    return NamedRows(sim.world, "ab", np.array(rows))


def drive(sim: MultiRobotSimulationCore, names: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    ack = sim.dispatcher.dispatch(SetVelocity(names=names, **FORWARD))  # type: ignore[arg-type]
    return ack.accepted_names, ack.rejected


def test_they_are_the_plain_tuple_to_others(sim: MultiRobotSimulationCore) -> None:
    names = pair(sim)
    assert names == ("a", "b") and hash(names) == hash(("a", "b"))
    for copied in (pickle.loads(pickle.dumps(names)), copy.deepcopy(names)):
        assert copied == names and type(copied) is tuple


def test_rows_count_while_they_are_those_of_the_names(sim: MultiRobotSimulationCore) -> None:
    names = pair(sim)
    assert names.rows_in(sim.world) is not None
    assert drive(sim, names) == (("a", "b"), {})


@pytest.mark.parametrize("change", ["removed", "replaced", "renamed", "went back"])
def test_a_row_that_is_somebody_elses_is_never_driven(sim: MultiRobotSimulationCore, change: str) -> None:
    moment = sim.save_state()
    names = pair(sim)
    if change == "went back":
        sim.restore_state(moment)
        sim.spawn(AgentSpawnParams(name="b"))
    elif change == "renamed":
        sim.get_object("a").set_name("c")
    else:
        sim.remove_object(sim.get_object("a"))
        if change == "replaced":
            sim.spawn(AgentSpawnParams(name="c"))
    assert names.rows_in(sim.world) is None
    assert drive(sim, names) == (("b",), {"a": "unknown robot"})
    if change in ("replaced", "renamed"):
        assert not sim.get_object("c").is_moving


def test_rows_of_another_simulation_count_for_nothing(make_sim) -> None:  # type: ignore[no-untyped-def]
    first, second = make_sim(), make_sim()
    names = pair(first)
    assert pair(second).rows_in(first.world) is None
    second.remove_object(second.get_object("b"))
    assert drive(second, names) == (("a",), {"b": "unknown robot"})


def test_a_row_given_twice_is_driven_once(sim: MultiRobotSimulationCore) -> None:
    row = sim.spawn(AgentSpawnParams(name="a")).row
    names = NamedRows(sim.world, ("a", "a"), np.array([row, row]))
    ack = sim.dispatcher.dispatch(SetVelocity(names=names, linear=[[1, 0, 0], [2, 0, 0]], angular=np.zeros((2, 3))))  # type: ignore[arg-type]
    assert (ack.accepted_names, ack.rejected) == (("a",), {"a": "duplicate target"})
    assert sim.world.motion.command_linear[row, 0] == 1.0


def test_unknown_names_take_nobodys_place(sim: MultiRobotSimulationCore) -> None:
    count = sim.world.capacity
    names = tuple(sim.spawn(AgentSpawnParams(name=f"r_{index}")).name for index in range(count))
    given = ("nobody", *names, "nobody")
    assert sim.world.capacity == count, "the last row is taken, where a row of -1 would point"
    zeros = np.zeros((count + 2, 3))
    ack = sim.dispatcher.dispatch(SetVelocity(names=given, linear=zeros, angular=zeros))
    assert (ack.accepted_names, ack.rejected) == (names, {"nobody": "unknown robot"})
