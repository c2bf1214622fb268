"""Gripper: two fingers of an arm, with the objects they touch and the forces in their joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.actions.target import row_of_target
from fleet_sim.arrays import Floats, Ints, Rows, as_floats
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import InvalidValueError
from fleet_sim.simulation import MultiRobotSimulationCore

Forces = dict[str, list[float]]
"""Reaction forces in N of both fingers, one number per step: `end_effector_a` and `end_effector_b`."""


class Gripper:
    """The fingers of `agent`, which are its joints and links `fingers`; limits (2,) are in m."""

    def __init__(
        self, sim: MultiRobotSimulationCore, agent: Agent, fingers: Sequence[int], lower: Floats, upper: Floats
    ) -> None:
        self._sim, self._agent, self._fingers = sim, agent, tuple(fingers)
        self._lower, self._upper = lower, upper
        self.reads_forces = False
        """Whether `record` reads the forces."""

    def within_limits(self, a: float, b: float) -> tuple[float, float]:
        """Return the fingers' targets, clipped to their limits."""
        # Clipped, not refused: policies ask for more than fingers can do, and mean "as far as it goes".
        wanted = as_floats((a, b), (2,), "target positions of the fingers")
        first, second = np.clip(wanted, self._lower, self._upper).tolist()
        return first, second

    def move(self, a: float, b: float, force: float) -> None:
        """Set the fingers' targets in m, with the largest force of their motors in N."""
        for joint, position in zip(self._fingers, (a, b), strict=True):
            self._agent.set_joint_target(joint, position, force)

    def touches(self, obj: int | SimObject) -> bool:
        """Return whether one of the fingers touches an object: a handle, an object id or a body id.

        Raises UnknownNameError for an id that no object has, or that two have.
        """
        world = self._sim.world
        thing = world.handles[row_of_target(world, obj)]
        # A link has the number of the joint that moves it.
        touching = (contact for contact in self._agent.get_contacts() if contact.link in self._fingers)
        return any(contact.other is thing for contact in touching)

    # ---- forces ------------------------------------------------------------------------------------------------------

    def enable_forces(self) -> None:
        """Let the engine measure the forces in the finger joints, from its next step on."""
        self._sim.engine.reactions.want(*self._joints())
        self.reads_forces = True

    def forces(self) -> tuple[float, float]:
        """Return the reaction forces in N along the z axes of the two fingers, as of the last step."""
        # Across the axes of the joints, which are along y: the forces of their motors are no part of it.
        wrenches = self._sim.engine.reactions.wrenches(*self._joints())
        return float(wrenches[0, 2]), float(wrenches[1, 2])

    def _joints(self) -> tuple[Rows, Ints]:
        """Return the row of the agent and the joint of each finger."""
        return np.full(len(self._fingers), self._agent.row, np.int64), np.array(self._fingers, np.int64)

    def record(self, forces: Forces) -> None:
        """Append the forces of the last step to `forces`, if they are read."""
        if self.reads_forces:
            a, b = self.forces()
            forces["end_effector_a"].append(a)
            forces["end_effector_b"].append(b)


def no_forces() -> Forces:
    """Return a record without steps."""
    return {"end_effector_a": [], "end_effector_b": []}


TIP_OFFSET = 0.0085
"""Distance in m from the controlled point between the fingers to below their tips: they touch at 0.0082."""
FLOOR = 0.004
"""Thickness in m of the floor of a bin, under which the origin of the bin is."""
WALL_MARGIN = 0.02
"""Distance in m that the gripper keeps from the sides of its workspace."""


def workspace_limits(origin: Sequence[float], dimensions: Sequence[float]) -> list[list[float]]:
    """Return the lower and upper limit of x, y and z; there is no upper limit in z.

    `origin` (3,) is that of the bin in m, world frame; `dimensions` (3,) are its length, width and height inside.
    """
    centre = as_floats(origin, (3,), "workspace_origin")
    size = as_floats(dimensions, (3,), "workspace_dimensions")
    reach = np.maximum(0.5 * size[:2] - WALL_MARGIN, 0.0)
    sides = [[float(centre[axis] - reach[axis]), float(centre[axis] + reach[axis])] for axis in range(2)]
    return [*sides, [float(centre[2]) + FLOOR + TIP_OFFSET, float("inf")]]


def clipped(workspace: list[list[float]] | None, position: Sequence[float] | Floats) -> Floats:
    """Return the nearest position (3,) in the workspace; raises InvalidValueError if there is none."""
    if workspace is None:
        raise InvalidValueError("this arm has no workspace; give it workspace_origin and workspace_dimensions")
    limits = np.array(workspace)
    nearest: Floats = np.clip(np.array(position, np.float64), limits[:, 0], limits[:, 1])
    return nearest
