"""Who cannot drive by itself, and driving as a passenger of the traffic."""

from __future__ import annotations

from fleet_sim.actions.base import Failure
from fleet_sim.config.modes import ActionCause
from fleet_sim.entities.agent import Agent
from fleet_sim.errors import FleetSimError
from fleet_sim.geometry import Path
from fleet_sim.geometry.pose import pose_arrays
from fleet_sim.spatial import quaternions

STOREY = 1.5
"""Goals this much in m higher or lower than the robot are on another storey."""


def is_conveyed(agent: Agent) -> bool:
    """Return whether the robot is driven by the traffic."""
    return agent.world.routes.conveys(agent.row)


def reason_not_to_drive(agent: Agent) -> str:
    """Return why nothing else drives a robot of the traffic."""
    conveyance = agent.world.routes.conveyance
    return "" if conveyance is None else conveyance.reason


def set_out(agent: Agent, path: Path, leg: int, align_final: bool, tolerance: float) -> Failure | None:
    """Send the robot to the pose number `leg` of `path`; return why it is not sent, or None."""
    conveyance = agent.world.routes.conveyance
    if conveyance is None or not conveyance.drives(agent.row):
        return Failure("the robot takes part in the traffic no longer", ActionCause.UNREACHABLE)
    positions, orientations = pose_arrays(path)
    # It knows one storey: a goal on another one must not become the place below or above it.
    if abs(positions[leg, 2] - agent.world.position[agent.row, 2]) > STOREY:
        reason = f"the goal is at the height {positions[leg, 2]:g} m, and the traffic stays on one storey"
        return Failure(f"{reason}; let the robot leave the traffic first", ActionCause.UNREACHABLE)
    heading = quaternions.yaw_of(orientations, leg) if align_final and leg == len(positions) - 1 else None
    try:
        conveyance.send_to(agent.row, positions[leg, :2], heading, tolerance)
    except FleetSimError as error:
        return Failure(str(error), ActionCause.INVALID_GOAL)
    return None


def is_there(agent: Agent) -> bool | Failure:
    """Return whether the robot is where it was sent, or why it will not come there."""
    conveyance = agent.world.routes.conveyance
    if conveyance is None or not conveyance.drives(agent.row):
        return Failure("the robot takes part in the traffic no longer", ActionCause.UNREACHABLE)
    return conveyance.has_brought(agent.row)


def immovable(agent: Agent) -> Failure | None:
    """Return why the agent cannot drive, or None."""
    if not agent.can_move:
        return Failure("the agent has a fixed base and cannot move", ActionCause.UNREACHABLE)
    holder = agent.attached_to
    if holder is None:
        return None
    return Failure(f"the agent is carried by {holder!r} and cannot move by itself", ActionCause.UNREACHABLE)
