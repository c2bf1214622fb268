"""How the parts of a swarm world are written in state files: by the names of their classes and their places."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, TypeVar

from fleet_sim.core.saving.forms import Form
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import StateFileError, brief
from fleet_sim.settings import read
from fleet_sim.swarm.agent_config import AgentConfig
from fleet_sim.swarm.agent_types import AGENT_TYPES
from fleet_sim.swarm.agents import Controller, Group, Sensor, SwarmAgent
from fleet_sim.swarm.controllers import CONTROLLERS
from fleet_sim.swarm.crowd import SwarmColumns
from fleet_sim.swarm.metric import Metric
from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.parts import PartRegistry
from fleet_sim.swarm.sensors import SENSORS
from fleet_sim.swarm.spawners import SPAWNERS
from fleet_sim.swarm.swarm_state import SwarmState
from fleet_sim.swarm.swarm_world import Spawner, SwarmWorld
from fleet_sim.swarm.watched_list import WatchedList

Made = TypeVar("Made")


class SwarmForms:
    """The forms of one world."""

    def __init__(self, world: SwarmWorld) -> None:
        self._world = world
        self._new: dict[int, Group] = {}

    def forms(self) -> Iterator[Form[Any]]:
        """Yield all forms."""
        world = self._world
        yield Form("swarm_world", SwarmState, lambda state: None, lambda nothing: world)
        yield Form("swarm_columns", SwarmColumns, lambda columns: None, lambda nothing: world.swarm)
        yield Form("swarm_config", AgentConfig, _of_config, _config)
        yield Form("swarm_agent", SwarmAgent, _of_agent, self._agent)
        yield Form("swarm_group", Group, self._of_group, self._group)
        yield Form("swarm_controller", Controller, lambda part: name_of(CONTROLLERS, part), _blank(CONTROLLERS))
        yield Form("swarm_sensor", Sensor, lambda part: name_of(SENSORS, part), _blank(SENSORS))
        yield Form("swarm_metric", Metric, lambda part: self._of_listed(METRICS, world.metrics, part), self._metric)
        yield Form(
            "swarm_spawner", Spawner, lambda part: self._of_listed(SPAWNERS, world.spawners, part), self._spawner
        )

    # ---- agents and groups -------------------------------------------------------------------------------------------

    def _agent(self, saved: tuple[str, SimObject | None]) -> SwarmAgent:
        """Return the agent that `saved` stands for: the one there is if it is the same, else a new one."""
        name, handle = saved
        cls = class_named(AGENT_TYPES, name)
        if not isinstance(handle, SimObject):
            raise StateFileError(f"{brief(saved)} is no agent")
        row = handle.place[0]
        world = self._world
        if world.columns.handles[row] is handle and world.swarm.group[row] >= 0:
            known = world.agent_of(row)
            if type(known) is cls:
                return known
        return _remade(cls, world, handle)

    def _of_group(self, group: Group) -> object:
        origin = None if group.origin is group else group.origin
        return group.index, name_of(AGENT_TYPES, group), group.config, group.is_object, origin

    def _group(self, saved: tuple[int, str, AgentConfig, bool, Group | None]) -> Group:
        """Return the group that `saved` stands for; raises StateFileError where the world has another one there."""
        index, name, config, is_object, origin = saved
        cls, groups = class_named(AGENT_TYPES, name), self._world.groups
        if 0 <= index < len(groups):
            known = groups[index]
            if known.kind is not cls or known.is_object is not is_object:
                raise StateFileError(
                    f"group {index} is one of {known.kind.__name__} here, and was one of {cls.__name__}"
                )
            return known
        if not isinstance(config, cls.config_class) or not (origin is None or isinstance(origin, Group)):
            raise StateFileError(f"{brief(saved)} is no group")
        group = Group(self._world, index, cls, config, origin)
        group.is_object = is_object
        return group

    # ---- parts of the world ------------------------------------------------------------------------------------------

    def _of_listed(self, registry: PartRegistry[Any], parts: list[Any], part: object) -> object:
        places = [place for place, known in enumerate(parts) if known is part]
        return name_of(registry, part), places[0] if places else None

    def _metric(self, saved: tuple[str, int | None]) -> Metric:
        return _listed(METRICS, self._world.metrics, saved)

    def _spawner(self, saved: tuple[str, int | None]) -> Spawner:
        return _listed(SPAWNERS, self._world.spawners, saved)


def _remade(cls: type[SwarmAgent], world: SwarmWorld, handle: SimObject) -> SwarmAgent:
    """Return an agent for `handle`; it gets its settings and parts from the memory of the world."""
    agent: SwarmAgent = object.__new__(cls)
    known = {"columns": world.columns, "swarm": world.swarm, "world": world, "_handle": handle, "row": handle.place[0]}
    vars(agent).update(known, config=None, _start=None, _last=None, _group=None, _controller=None, is_made=True)
    vars(agent)["_sensors"] = WatchedList(agent._change_sensors)
    return agent


def _listed(registry: PartRegistry[Made], parts: list[Made], saved: tuple[str, int | None]) -> Made:
    """Return the part at its place, or where another one is there now, a new one without attributes."""
    name, place = saved
    cls = class_named(registry, name)
    if type(place) is int and 0 <= place < len(parts) and type(parts[place]) is cls:
        return parts[place]
    return object.__new__(cls)


def _blank(registry: PartRegistry[Made]) -> Any:
    def blank(name: str) -> Made:
        cls = class_named(registry, name)
        return object.__new__(cls)

    return blank


def _of_agent(agent: SwarmAgent) -> object:
    if agent.is_new:
        raise StateFileError(f"{agent!r}: put it into its world, or let go of it")
    return name_of(AGENT_TYPES, agent), agent.handle


def _of_config(config: AgentConfig) -> object:
    return name_of(AGENT_TYPES, config), dict(vars(config))


def _config(saved: tuple[str, dict[str, Any]]) -> AgentConfig:
    # As from a file of the user's: every value is checked.
    name, values = saved
    cls = class_named(AGENT_TYPES, name).config_class
    return read(cls, values).in_use("an agent")


# ---- classes by name -------------------------------------------------------------------------------------------------


def name_of(registry: PartRegistry[Any], part: object) -> str:
    """Return the name by which the class of a part is found again; raises StateFileError where there is none."""
    cls: type[Any]
    if isinstance(part, Group):
        cls = part.kind
    elif isinstance(part, AgentConfig):
        cls = AGENT_TYPES.type_of(part.associated_type) if part.associated_type else type(part)
    else:
        cls = type(part)
    for name, known in registry.registered().items():
        if known is cls:
            return name
    path = f"{cls.__module__}:{cls.__qualname__}"
    if issubclass(cls, registry.base) and "<locals>" not in path and cls.__module__ != "__main__":
        return path
    raise StateFileError(
        f"the {registry.noun} {path} cannot be saved: another process does not find it; write the class at the top of "
        "a module, or register it"
    )


def class_named(registry: PartRegistry[Made], name: str) -> type[Made]:
    """Return the class called `name`; one at a dotted path must be imported already, as by the scenario.

    Raises UnknownNameError, and StateFileError for a path to anything else.
    """
    if ":" not in name:
        return registry.get(name)
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not issubclass(found, registry.base):
        raise StateFileError(f"there is no {registry.noun} {brief(name)} here; import its module first")
    cls: type[Made] = found
    return cls
