"""Checks of what is put into the population or the objects of a world."""

from __future__ import annotations

from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.swarm_state import SwarmState


def check_new(world: SwarmState, name: str, member: object) -> None:
    """Refuse what cannot be appended to the list `name` of `world`; raises InvalidValueError."""
    if not isinstance(member, SwarmAgent):
        reason = f"{member!r} is no agent"
    elif member.world is not world:
        reason = f"{member!r} was made for another world"
    elif member.is_alive:
        reason = f"{member!r} is elsewhere in this world"
    elif not member.is_new:
        reason = f"{member!r} was removed and does not come back"
    else:
        return
    adder = "world.add_object({...})" if name == "objects" else "world.spawn({...})"
    raise InvalidValueError(f"world.{name}: {adder} adds to it, or a new agent made for this world; {reason}")
