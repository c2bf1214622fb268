"""Giving agents other controllers and sensors while their world runs.

A group is all agents with one controller and the same sensors, so an agent that gets others moves to another group. It
takes along what it remembers, but for what the parts that it gave away remembered.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.agents import Controller, Group, Sensor, SwarmAgent
from fleet_sim.swarm.component import Component
from fleet_sim.swarm.controllers import CONTROLLERS
from fleet_sim.swarm.parts import PartRegistry
from fleet_sim.swarm.sensor_view import SensorView
from fleet_sim.swarm.sensors import SENSORS

Made = TypeVar("Made", bound=Component)


def controller_for(agent: SwarmAgent, spec: object) -> Controller | None:
    """Return the controller that `spec` describes, a part or as in a configuration, checked for `agent`.

    Raises InvalidValueError and UnknownNameError.
    """
    return None if spec is None else _taken(CONTROLLERS, spec, "controller", agent)


def sensors_for(agent: SwarmAgent, specs: Sequence[object]) -> list[Sensor]:
    """Return the sensors that `specs` describe, checked for `agent`; what it has may be among them.

    Raises InvalidValueError, also for one sensor given twice, and UnknownNameError.
    """
    plain = [spec.sensor if isinstance(spec, SensorView) else spec for spec in specs]
    if len({id(spec) for spec in plain if isinstance(spec, Sensor)}) < sum(isinstance(spec, Sensor) for spec in plain):
        raise InvalidValueError("one sensor is given twice; make another one of the same kind")
    return [_taken(SENSORS, spec, f"sensors[{index}]", agent) for index, spec in enumerate(plain)]


def _taken(kinds: PartRegistry[Made], spec: object, slot: str, agent: SwarmAgent) -> Made:
    """Return the part that `spec` describes for one agent; raises InvalidValueError for that of another one."""
    part = kinds.make(spec, owner=agent)
    if part.agent not in (None, agent):
        raise InvalidValueError(
            f"{type(part).__name__} is already that of {part.agent!r}; make another one for {agent!r}"
        )
    if part.works_on_arrays() and part.slot not in ("", slot):
        # What it remembers per agent is kept under its place, and others may have it there.
        part = copy.copy(part)
    return part


def hand_over(agent: SwarmAgent, controller: Controller | None, sensors: Sequence[Sensor]) -> None:
    """Let `agent` hold these parts, and tell them their places, and those written per agent whose they are.

    Readings and memory of a part that is replaced are forgotten.
    """
    before = slots_of(agent.controller, agent.plain_sensors)
    after = slots_of(controller, sensors)
    for slot, part in before.items():
        if part is not None and not part.works_on_arrays() and part not in after.values():
            part.belong_to(None)
        if after.get(slot) is not part and agent.is_alive:
            agent.group.forget(slot, agent.row)
    for slot, part in after.items():
        if part is not None:
            part.slot = slot
            part.belong_to(None if part.works_on_arrays() else agent)
    agent.hold(controller, sensors)


def slots_of(controller: Controller | None, sensors: Sequence[Sensor]) -> dict[str, Component | None]:
    """Return parts by their places."""
    return {"controller": controller, **{f"sensors[{index}]": sensor for index, sensor in enumerate(sensors)}}


def fits(group: Group, controller: Controller | None, sensors: Sequence[Sensor]) -> bool:
    """Return whether an agent with these parts can be in `group`: those on arrays are the group's own."""
    return _identities(group.controller, group.sensors) == _identities(controller, sensors)


def group_key(origin: Group, controller: Controller | None, sensors: Sequence[Sensor]) -> str:
    """Return a key that is equal for agents that came from `origin` and share these parts."""
    return f"{origin.index} with {_identities(controller, sensors)}"


def _identities(controller: Controller | None, sensors: Sequence[Sensor]) -> list[int]:
    """Return the identities of the parts of a group: 0 for a missing part, 1 for parts that each agent has its own."""
    parts = (controller, *sensors)
    # Parts that each agent has its own of may differ within a group; those on arrays serve a whole group.
    return [0 if part is None else id(part) if part.works_on_arrays() else 1 for part in parts]


def move(agent: SwarmAgent, group: Group) -> None:
    """Let `agent` leave its group and join `group`, with what it remembers."""
    old = agent.group
    number = old.number_of(agent.row)
    # Copied first: leaving the group drops the agent's part of these arrays.
    state = {name: values[number].copy() for name, values in old.state.items()}
    readings = {index: values[number].copy() for index, values in old.readings.items() if index < len(group.sensors)}
    mask = np.ones(len(old), np.bool_)
    mask[number] = False
    old.keep(mask)
    agent.swarm.group[agent.row] = group.index
    group.join([agent])
    for name, value in state.items():
        # Who joins a group comes last in its arrays.
        group.column(name, value.shape, dtype=value.dtype, default=old.default_of(name))[-1] = value
    for index, reading in readings.items():
        group.only(len(group) - 1).note(index, reading[None])
