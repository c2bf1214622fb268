"""Substeps of MuJoCo: its own stages, with our surfaces and motors between them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cache

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.core.drives import DrivenSubsteps
from fleet_sim.errors import StateError
from fleet_sim.mujoco.bodies import MujocoBodies
from fleet_sim.mujoco.bound import Bound
from fleet_sim.mujoco.contacts import IMPEDANCE, contact_law, keep_down, mix_surfaces
from fleet_sim.mujoco.drag import drag, drag_links
from fleet_sim.mujoco.forces import MujocoForces
from fleet_sim.mujoco.module import is_lack_of_memory, mujoco_module
from fleet_sim.mujoco.motors import MujocoMotors
from fleet_sim.mujoco.movers import Movers
from fleet_sim.mujoco.resting import RestingContacts
from fleet_sim.mujoco.state import MujocoState, state_of

log = logging.getLogger("fleet_sim.mujoco")
_LEAST_FORCE = 1e-300
MOST_ARENA = 8 * 2**30
"""Bytes for contacts and constraints beyond which a world is refused."""


@dataclass(eq=False, repr=False)
class Substeps:
    """Makes the substeps of one step. `erp` is the part of an overlap that is corrected in a substep."""

    _bodies: MujocoBodies
    _movers: Movers
    _forces: MujocoForces
    _resting: RestingContacts
    _erp: float

    def awake(self, bound: Bound) -> bool:
        """Return whether anything moves, or may begin to."""
        return bool(bound.data.ntree_awake or bound.waking or self._gravity_changed(bound))

    def run(
        self, bound: Bound, motors: MujocoMotors, driven: DrivenSubsteps, count: int, dt: float
    ) -> tuple[Bound, MujocoMotors]:
        """Make `count` substeps of `dt`; return the model and motors in use, others where memory had to grow."""
        self._prepare(bound, dt)
        motors.prepare()
        # Kept to begin again from, should memory not be enough.
        before, resting = state_of(bound), self._resting.table
        left, full = count, _left_out(bound)
        while left:
            self._movers.drive(bound)
            self._bodies.drive(bound, driven, count - left)
            if self._substep(bound, motors, dt) and _left_out(bound) == full:
                # In each substep: a contact is gone in the one after its bodies fell asleep.
                self._resting.update(bound)
                left -= 1
                continue
            # What did not fit was left out, so all substeps are made again with more memory.
            left = count
            bound = self._grown(bound, before)
            self._movers.follow(bound)
            self._resting.take(bound, resting)
            motors = MujocoMotors(motors.world, bound)
            full = _left_out(bound)
            self._prepare(bound, dt)
            motors.prepare()
        self._bodies.drive(bound, driven, None)
        motors.measure()
        return bound, motors

    def _prepare(self, bound: Bound, dt: float) -> None:
        """Set what may have changed since the last step: time step, gravity, and what depends on both."""
        model = bound.model
        if self._gravity_changed(bound):
            # Both are changed, so that all that sleeps feels the new gravity.
            bound.compiled.gravity = tuple(self._bodies.gravity)
            model.opt.gravity[:] = self._bodies.gravity
            bound.wake(range(model.ntree))
        if bound.compiled.substep == dt:
            return
        bound.compiled.substep = model.opt.timestep = dt
        model.geom_solref[:] = contact_law(self._erp, dt)
        model.geom_solimp[:, :2] = IMPEDANCE
        for solref in (model.jnt_solref, model.eq_solref):
            # As stiff as a substep permits: twice its length is the least that is stable.
            solref[:, 0], solref[:, 1] = 2.0 * dt, 1.0

    def _gravity_changed(self, bound: Bound) -> bool:
        return bound.compiled.gravity != tuple(self._bodies.gravity)

    def _substep(self, bound: Bound, motors: MujocoMotors, dt: float) -> bool:
        """Make one substep; return False if MuJoCo broke off as there was too little memory for its contacts."""
        mujoco, model, data = mujoco_module(), bound.model, bound.data
        try:
            waking = bound.take_waking()
            if len(waking):
                # MuJoCo wakes up what a force acts on, however little.
                data.qfrc_applied[waking] = _LEAST_FORCE
            mujoco.mj_fwdPosition(model, data)
            if len(waking):
                data.qfrc_applied[waking] = 0.0
            if data.ncon and mix_surfaces(bound):
                # The constraints again, now of these contacts.
                mujoco.mj_makeConstraint(model, data)
                mujoco.mj_island(model, data)
                mujoco.mj_projectConstraint(model, data)
            mujoco.mj_fwdVelocity(model, data)
            drag(bound, dt)
            motors.aim(dt)
            self._forces.apply(bound)
            drag_links(bound, dt)
            if data.ncon:
                keep_down(bound, dt)
            mujoco.mj_step2(model, data)
        except mujoco.FatalError as error:
            if not is_lack_of_memory(error):
                raise StateError(f"MuJoCo cannot make this step: {error}") from error
            return False
        return True

    def _grown(self, bound: Bound, before: MujocoState) -> Bound:
        # Twice as much each time, up to a limit.
        if int(bound.model.narena) >= MOST_ARENA:
            raise StateError("MuJoCo has no room for the contacts of this world; spawn fewer dynamic bodies")
        log.debug("more memory for contacts: %d MB", 2 * int(bound.model.narena) // 2**20)
        return self._bodies.grow_arena(before)


def _left_out(bound: Bound) -> bytes:
    """Return how often MuJoCo had no room for contacts or constraints, to be compared: bytes are read in one call."""
    return bound.warnings[_kinds_of_lack()].tobytes()


@cache
def _kinds_of_lack() -> Ints:
    """Return the numbers of MuJoCo's warnings that there was no room for contacts, or for constraints."""
    kinds = mujoco_module().mjtWarning
    return np.array([int(kinds.mjWARN_CONTACTFULL), int(kinds.mjWARN_CNSTRFULL)])
