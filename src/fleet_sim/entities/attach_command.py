"""The command Attach: attach an object to a robot, or detach what it carries."""

from __future__ import annotations

from typing import Any

from fleet_sim.core import commands as c
from fleet_sim.core.robot_model import BASE
from fleet_sim.core.world import World
from fleet_sim.entities import attachments
from fleet_sim.errors import FleetSimError


def attach(world: World, agent: Any, command: c.Attach) -> str:
    """Execute `command` for `agent`; return the reason for a failure, or ""."""
    if not command.attach:
        return _detach(agent, command.object_name)
    if command.object_name:
        if not world.index.has_name(command.object_name):
            return f"unknown object {command.object_name!r}"
        obj = world.handles[world.index.row_named(command.object_name)]
    else:
        obj = agent.find_nearest_pickable(command.search_radius)
    try:
        # Before anything is attached: an unknown link must not be found out too late.
        link = attachments.link_index(world, agent.row, command.link or BASE)
    except FleetSimError as error:
        return str(error)
    if obj is not None and (reason := attachments.out_of_reach(world, obj.row, agent.row, link, command.reach)):
        return reason
    if obj is None or not agent.pick(obj, link=link):
        return "no free pickable object in reach"
    return ""


def _detach(agent: Any, object_name: str) -> str:
    """Detach the object of that name, or all objects if it is empty."""
    # A list of its own: detaching changes the robot's.
    carried = [obj for obj in agent.get_attached_objects() if object_name in ("", obj.name)]
    for obj in carried:
        agent.detach_object(obj)
    return "" if carried else "nothing to detach"
