"""The key `slotcar` of a robot's entry, which `setup.cfg` declares: it connects slotcars to a simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Rows, as_float
from fleet_sim.base.errors import FleetSimError, InvalidValueError, brief
from fleet_sim.robots.drive import is_steered
from fleet_sim.warehouse.rmf import slotcars as cars
from fleet_sim.world.commands import CommandAck
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.world import World, energy_columns_with

# Carries out the commands to slotcars and chargers, and refuses those that make no sense.


LONGEST_PATH = 100_000
"""Waypoints of a path that is followed."""
LONGEST_NAME = 1000
"""Characters of a task, an action or a level: they are published again with each state."""
LONGEST_TIMEOUT = 1e9
"""In s: what a robot has to come to a charger."""
LARGEST_NUMBER = 2**63 - 1
"""Of requests; columns hold no larger ones."""


class SlotcarRequests:
    """Commands to slotcars: for one by its name, refused with the reason and counted where that is none."""

    def __init__(self, world: World, slotcars: cars.Slotcars) -> None:
        self._world = world
        self._slotcars = slotcars

    def follow(self, order: cars.FollowWaypoints) -> None:
        """Carry out a FollowWaypoints; a task that is known already goes on as before."""
        row = self._row(order.robot)
        self._short("task_id", order.task)
        if order.task != self._slotcars.tasks(row).task:
            self._slotcars.start_path(row, order.task, self._checked(order.path))

    def set_mode(self, order: cars.SetSlotcarMode) -> None:
        """Carry out a SetSlotcarMode."""
        row = self._row(order.robot)
        if order.mode not in list(cars.SlotcarMode):
            raise InvalidValueError(f"there is no mode {order.mode!r}; modes are 0 to {max(cars.SlotcarMode)}")
        self._short("performing_action", order.action)
        table = self._slotcars.table
        table.mode[row], table.mode_request[row] = order.mode, self._number(order.request)
        self._slotcars.tasks(row).action = order.action

    def pause(self, order: cars.PauseSlotcar) -> None:
        """Carry out a PauseSlotcar."""
        row = self._row(order.robot)
        if order.pause not in list(cars.Pause):
            raise InvalidValueError(f"pause: expected 0, 1 or 2, got {order.pause!r}")
        table = self._slotcars.table
        table.pause[row], table.pause_request[row] = order.pause, self._number(order.request)
        table.checkpoint[row] = order.checkpoint

    def charge(self, order: cars.RequestCharge) -> None:
        """Carry out a RequestCharge."""
        row = self._row(order.robot)
        self._short("request_id", order.request)
        self._short("fleet_name", order.fleet)
        if energy_columns_with(self._world, row) is None:
            raise InvalidValueError(f"{order.robot!r} has no battery")
        timeout = as_float(order.timeout, "start_timeout", low=0.0, high=LONGEST_TIMEOUT)
        self._slotcars.chargers.assign(order.charger, order.robot, order.fleet, order.request, timeout)

    def cancel_charge(self, order: cars.CancelCharge) -> None:
        """Carry out a CancelCharge."""
        self._slotcars.chargers.cancel(order.charger, order.request)

    def answer(self, which: str, carry_out: Callable[[Any], None], order: Any) -> CommandAck:
        """Carry out a command to the slotcar or charger that its field `which` names, unless that is refused."""
        name, refused = getattr(order, which), ""
        try:
            carry_out(order)
        except FleetSimError as error:
            self._slotcars.refused += 1
            refused = str(error)
        time = self._world.clock.time
        acked: CommandAck = order.ack(time, (), {name: refused}) if refused else order.ack(time, (name,))
        return acked

    def _row(self, name: str) -> int:
        row = int(self._world.index.rows_named([name])[0])
        if row < 0 or not self._slotcars.table.present[row]:
            raise InvalidValueError("there is no slotcar of that name")
        return row

    def _number(self, number: int) -> int:
        if not 0 <= number <= LARGEST_NUMBER:
            raise InvalidValueError(f"request {number!r}: expected 0 to {LARGEST_NUMBER}")
        return number

    def _short(self, what: str, text: str) -> None:
        if len(text) > LONGEST_NAME:
            raise InvalidValueError(f"{what}: expected at most {LONGEST_NAME} characters, got {len(text)}")

    def _checked(self, path: tuple[cars.Waypoint, ...]) -> tuple[cars.Waypoint, ...]:
        """Return `path`; raises InvalidValueError unless all of it can be driven to."""
        if not path:
            raise InvalidValueError("the path has no waypoints")
        if len(path) > LONGEST_PATH:
            raise InvalidValueError(f"the path has {len(path)} waypoints, at most {LONGEST_PATH} are followed")
        for number, one in enumerate(path):
            # A limit that is not obeyed may be anything.
            numbers = (one.x, one.y, one.yaw, one.limit if one.obeys else 0.0)
            if not all(map(math.isfinite, numbers)) or not max(abs(one.x), abs(one.y)) <= self._world.extent:
                raise InvalidValueError(f"path[{number}]: it is nowhere in this world: {brief(one)}")
            self._short(f"path[{number}].level_name", one.level)
            if not 0 <= one.number <= LARGEST_NUMBER:
                raise InvalidValueError(f"path[{number}].index: expected 0 to {LARGEST_NUMBER}, got {one.number!r}")
        return path


class SlotcarFeature(Feature[cars.SlotcarSettings, cars.SlotcarColumns]):
    """Slotcars: `slotcar:` in a robot's entry, `sim.features.use("slotcar")` is the Slotcars."""

    doc = "Lets it follow the paths of a fleet manager, as slotcars of Open-RMF do."
    settings = cars.SlotcarSettings
    table = cars.SlotcarColumns

    def start(self, host: FeatureHost, table: cars.SlotcarColumns) -> cars.Slotcars:
        """Decide before robots move."""
        slotcars = cars.Slotcars(host.world, table)
        requests = SlotcarRequests(host.world, slotcars)
        host.pipeline.add(System("slotcars", Phase.UPDATE, slotcars.step), before="motion")
        for kind, which, carry_out in (
            (cars.FollowWaypoints, "robot", requests.follow),
            (cars.SetSlotcarMode, "robot", requests.set_mode),
            (cars.PauseSlotcar, "robot", requests.pause),
            (cars.RequestCharge, "charger", requests.charge),
            (cars.CancelCharge, "charger", requests.cancel_charge),
        ):
            host.dispatcher.handle(kind, partial(requests.answer, which, carry_out))
        host.checkpoints.register_late("slotcars", slotcars)
        return slotcars

    def enter(self, part: cars.Slotcars, table: cars.SlotcarColumns, rows: Rows) -> None:
        """Take in robots; raises InvalidValueError for what cannot drive and turn."""
        world = part.world
        for row in np.asarray(rows).tolist():
            if world.kind[row] != KIND_AGENT or world.motion.law[row] == 0:
                raise InvalidValueError(f"{world.label(row)!r} cannot drive, so it is not a slotcar")
            if is_steered(world, row):
                raise InvalidValueError(f"{world.label(row)!r} is steered like a car; slotcars turn on the spot")

    def leave(self, part: cars.Slotcars, table: cars.SlotcarColumns, rows: Rows) -> None:
        """Let `rows` follow no path any more."""
        part.forget_paths(rows)


FEATURE = SlotcarFeature()
