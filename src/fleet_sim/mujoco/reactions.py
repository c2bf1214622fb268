"""Forces and torques that act in joints, from MuJoCo's forces between bodies."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.core.world import World
from fleet_sim.mujoco.bound import Bound
from fleet_sim.mujoco.geoms import xyzw
from fleet_sim.mujoco.module import mujoco_module
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import quaternions

_NONE = (np.nan,) * 6


@saved
class MeasuredPlace(NamedTuple):
    """A joint of an entity: its row and generation, and the index of the joint, which is that of its link."""

    row: int
    generation: int
    joint: int


class MujocoReactions:
    """Measures the wrenches of chosen joints in each step of physics.

    A wrench is what the parent applies to the link: a force and a torque about the origin of the link frame, (6,), in
    that frame, motors included.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._wanted: dict[MeasuredPlace, None] = {}
        self._wrenches: dict[MeasuredPlace, tuple[float, ...]] = {}

    def want(self, rows: Rows, joints: Ints) -> None:
        """Measure `joints` (N,) of `rows` (N,) from the next step on."""
        self._wanted.update(dict.fromkeys(self._places(rows, joints)))

    def wrenches(self, rows: Rows, joints: Ints) -> Floats:
        """Return the wrenches (N, 6) in the last step; NaN where there was none, or the engine did not move the row."""
        known = [self._wrenches.get(place, _NONE) for place in self._places(rows, joints)]
        return np.array(known, np.float64).reshape(-1, 6)

    def measure(self, bound: Bound) -> None:
        """Read the wanted joints, after the last substep."""
        if not self._wanted:
            return
        world = self._world
        self._wanted = {place: None for place in self._wanted if world.is_live(place.row, place.generation)}
        mujoco_module().mj_rnePostConstraint(bound.model, bound.data)
        found = {place: self._read(bound, place) for place in self._wanted if world.dynamic[place.row]}
        self._wrenches = {place: wrench for place, wrench in found.items() if wrench is not None}

    def _read(self, bound: Bound, place: MeasuredPlace) -> tuple[float, ...] | None:
        """Return force (N) and torque (N m) in a joint, in the frame of its child; None without the engine."""
        compiled, data = bound.compiled, bound.data
        at = np.flatnonzero(bound.rows == place.row)
        bodies = np.flatnonzero((compiled.body_place == at[0]) & (compiled.body_link == place.joint)) if len(at) else at
        if not len(bodies):
            return None
        body = int(bodies[0])
        torque, force = data.cfrc_int[body, :3], data.cfrc_int[body, 3:]
        # MuJoCo has them about the centre of mass of the whole tree, in the axes of the world.
        centre = data.subtree_com[bound.model.body_rootid[body]]
        torque = torque + np.cross(centre - data.xpos[body], force)
        back = quaternions.conjugate(np.array([xyzw(data.xquat[body])]))
        return tuple(np.concatenate([quaternions.rotate(back, part[None])[0] for part in (force, torque)]).tolist())

    def _places(self, rows: Rows, joints: Ints) -> list[MeasuredPlace]:
        generations = self._world.generation[rows]
        return [MeasuredPlace(*key) for key in zip(rows.tolist(), generations.tolist(), joints.tolist(), strict=True)]

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the last wrenches."""
        return dict(self._wrenches)

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        self._wrenches = {MeasuredPlace(*place): wrench for place, wrench in saved.items()}
