"""Actions that slotcars perform: they take carts along, and leave them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.rmf.states import SlotcarMode

CART_REACH = 1.0
"""A cart this near in m is attached."""
HARMLESS = "dispensable"
"""Objects with this in their names are carts, and in nobody's way."""


def perform(world: World, row: int, action: str) -> SlotcarMode:
    """Do what the slotcar in `row` is to perform; return its mode afterwards. What is unknown it leaves."""
    robot = world.handles[row]
    if action == "attach_cart":
        return SlotcarMode.ACTION_COMPLETED if _attach(world, row, robot) else SlotcarMode.IDLE
    if action == "detach_cart":
        for cart in robot.get_attached_objects():
            robot.detach_object(cart)
        return SlotcarMode.ACTION_COMPLETED
    return SlotcarMode.IDLE


def _attach(world: World, row: int, robot: Any) -> bool:
    """Attach the nearest cart; return whether there is one within reach, or one already."""
    if robot.get_attached_objects():
        return True
    names = world.index.names
    free = world.rows[world.parent[world.rows] == NO_ROW].tolist()
    rows = [one for one in free if HARMLESS in (names[one] or "").lower()]
    if not rows:
        return False
    offsets = world.position[rows] - world.position[row]
    gaps = np.sqrt((offsets * offsets).sum(axis=1))
    nearest = int(gaps.argmin())
    if gaps[nearest] > CART_REACH:
        return False
    robot.attach_object(world.handles[rows[nearest]], keep_world_pose=True)
    return True
