"""The forms of what every simulation has in its checkpoints: entities, actions, controllers, models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fleet_sim.actions.base import Action
from fleet_sim.actions.registry import ACTIONS, named_class
from fleet_sim.arrays import Bools, Ints
from fleet_sim.core.addresses import BodyId, ObjectId
from fleet_sim.core.clock import Clock
from fleet_sim.core.faults import GuardedPart
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.saving.forms import Form
from fleet_sim.core.saving.objects import refusal
from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.handle import Handle, handle_of
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import StateFileError, brief
from fleet_sim.motion.controller import AgentController
from fleet_sim.motion.controllers.registry import CONTROLLERS
from fleet_sim.registry import Registry

ENTITIES: dict[str, type[SimObject]] = {"Agent": Agent, "SimObject": SimObject}
"""Classes of entities in state files. Those of users have code that a file does not hold."""


class WorldForms:
    """How the entities of `world`, and what they do, are written and read."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.kept_mask: Bools = np.zeros(0, np.bool_)
        """Which rows hold the same entity in the file that is read and here."""
        self._made: dict[tuple[int, int], Handle] = {}

    def begin(self, kept_mask: Bools) -> None:
        """Begin to read a file."""
        self.kept_mask, self._made = kept_mask, {}

    def forms(self) -> Iterator[Form[Any]]:
        """Yield all forms."""
        yield Form("world", World, lambda world: None, lambda nothing: self._world)
        yield Form("clock", Clock, lambda clock: None, lambda nothing: self._world.clock)
        yield Form("entity", Handle, self._of_entity, self._entity)
        yield Form("model", RobotModel, self._of_model, self._model)
        yield Form("object_id", ObjectId, int, ObjectId)
        yield Form("body_id", BodyId, _of_body_id, _body_id)
        yield Form("action", Action, _of_action, _blank_action)
        yield Form("controller", AgentController, _of_controller, _blank_controller)
        yield Form("part", GuardedPart, GuardedPart.state_of, self._world.guard.part_of)

    # ---- entities ----------------------------------------------------------------------------------------------------

    def _of_entity(self, handle: Handle) -> object:
        name = list(ENTITIES)[_class_number(type(handle), handle) - 1]
        if handle.world is not self._world:
            raise StateFileError(f"{handle!r} is of another simulation")
        return name, *handle.place, None if handle.is_alive else getattr(handle, "last_label", "")

    def _entity(self, saved: tuple[str, int, int, str | None]) -> Handle:
        """Return the handle that `saved` stands for: the one there is if it is the same entity, else a new one."""
        name, row, generation, label = saved
        cls = ENTITIES.get(name)
        if cls is None or type(row) is not int or type(generation) is not int or not 0 <= row < len(self.kept_mask):
            raise StateFileError(f"{brief(saved)} is not an entity")
        known = self._world.handles[row] if self.kept_mask[row] else None
        # The same entity stays the same object: users hold it.
        if type(known) is cls and known.place == (row, generation):
            return known
        place = row, generation
        if place not in self._made:
            self._made[place] = handle_of(cls, self._world, row, generation, label)
        return self._made[place]

    def classes(self, handles: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a file holds of the handles in a checkpoint: the class of each row by its number, 0 for none."""
        unmade, classes = handles["unmade"], handles["classes"]
        numbers, names = np.zeros(len(unmade), np.uint8), list(ENTITIES)
        for number, cls in enumerate(classes, start=1):
            rows = np.flatnonzero(unmade == number)
            if len(rows):
                # A class of the user's own is refused by naming one of its entities.
                numbers[rows] = _class_number(cls, self._world.handles[int(rows[0])])
        for row, handle in enumerate(handles["made"]):
            if handle is not None:
                numbers[row] = _class_number(type(handle), handle)
        return {"numbers": numbers, "classes": names}

    def of_classes(self, saved: Any, alive: Bools) -> dict[str, Any]:
        """Return what `HandleTable.restore` takes, of what a file holds; raises StateFileError."""
        numbers, names = saved["numbers"], saved["classes"]
        if not isinstance(names, list) or not set(names) <= set(ENTITIES):
            raise StateFileError(f"classes of entities: expected {', '.join(ENTITIES)}, got {brief(names)}")
        if not isinstance(numbers, np.ndarray) or numbers.dtype != np.uint8 or numbers.shape != alive.shape:
            raise StateFileError("there is not one class of entities for each row")
        if ((numbers > 0) != alive).any() or int(numbers.max(initial=0)) > len(names):
            raise StateFileError("entities that live have one of the classes, and no others")
        return {"made": [], "unmade": numbers, "classes": [ENTITIES[name] for name in names]}

    def put_made(self, handles: dict[str, Any], generations: Ints) -> None:
        """Add to `of_classes` the handles that were made since for its entities, which have these `generations`."""
        handles["made"] = [None] * len(generations)
        for (row, number), handle in self._made.items():
            if generations[row] == number and handles["unmade"][row]:
                handles["made"][row], handles["unmade"][row] = handle, 0

    # ---- models ------------------------------------------------------------------------------------------------------

    def _of_model(self, model: RobotModel) -> object:
        return next(number for number, known in enumerate(self._world.models) if known is model)

    def _model(self, number: int) -> RobotModel:
        return self._world.models[number]


def _class_number(cls: type[Any], handle: object) -> int:
    """Return the place, from 1 on, of the class of `handle` in ENTITIES; raises StateFileError."""
    for number, known in enumerate(ENTITIES.values(), start=1):
        if known is cls:
            return number
    raise StateFileError(f"{handle!r}: {refusal(handle).partition(';')[0]}: its code is your own")


# ---- what entities do ------------------------------------------------------------------------------------------------


def _name(registry: Registry[Any], cls: type[Any], advice: str) -> str:
    """Return the name that a class is registered by; raises StateFileError."""
    for name, known in registry.registered().items():
        if known is cls:
            return name
    raise StateFileError(
        f"the {registry.noun} {cls.__module__}.{cls.__qualname__} cannot be saved: it has no name by which another "
        f"process finds it; give it one with {advice}()"
    )


def _of_action(action: Action) -> str:
    return _name(ACTIONS, named_class(action), "register_action")


def _blank_action(name: str) -> Action:
    # Without its constructor: the scheduler gives it its attributes.
    cls: type[Action] = ACTIONS.get(name)
    return object.__new__(cls)


def _of_controller(controller: AgentController) -> str:
    return _name(CONTROLLERS, type(controller), "register_controller")


def _blank_controller(name: str) -> AgentController:
    cls: type[AgentController] = CONTROLLERS.get(name)
    return object.__new__(cls)


def _of_body_id(body: BodyId) -> object:
    if body.object_id < 0:
        raise StateFileError(f"{body!r} is the number of a body of the engine, which is another one next time")
    return int(body), body.object_id


def _body_id(saved: tuple[int, int]) -> BodyId:
    return BodyId(*saved)
