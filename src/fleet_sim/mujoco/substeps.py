"""Substeps of MuJoCo: its own stages, with our surfaces and motors between them."""

from __future__ import annotations

import logging
import math

from fleet_sim.errors import StateError
from fleet_sim.mujoco.bodies import Bound, MujocoBodies, restore_vector, state_vector
from fleet_sim.mujoco.contacts import mix_surfaces
from fleet_sim.mujoco.forces import MujocoForces
from fleet_sim.mujoco.module import mujoco_module
from fleet_sim.mujoco.motors import MujocoMotors
from fleet_sim.mujoco.movers import Movers
from fleet_sim.mujoco.resting import RestingContacts

log = logging.getLogger("fleet_sim.mujoco")
MOST_ARENA = 8 * 2**30
"""Bytes for contacts and constraints beyond which a world is refused."""


class Substeps:
    """Makes the substeps of one step."""

    def __init__(
        self, bodies: MujocoBodies, movers: Movers, forces: MujocoForces, resting: RestingContacts, erp: float
    ) -> None:
        """`erp` is the part of an overlap that is corrected in a substep."""
        self._bodies = bodies
        self._movers = movers
        self._forces = forces
        self._resting = resting
        self._erp = erp

    def run(self, bound: Bound, motors: MujocoMotors, count: int, dt: float) -> tuple[Bound, MujocoMotors]:
        """Make `count` substeps of `dt`; return the model and motors in use, others where memory had to grow."""
        self._prepare(bound, dt)
        motors.prepare()
        for _ in range(count):
            self._movers.drive(bound)
            before, asleep = state_vector(bound), bound.data.tree_asleep.copy()
            while not self._substep(bound, motors, dt):
                # What did not fit was left out, so the substep is made again with more memory.
                restore_vector(bound, before, asleep)
                bound = self._grown(bound)
                self._movers.follow(bound)
                motors = MujocoMotors(motors.world, bound)
                self._prepare(bound, dt)
                motors.prepare()
        return bound, motors

    def _prepare(self, bound: Bound, dt: float) -> None:
        model = bound.model
        self._time_constant = time_constant(self._erp, dt)
        model.opt.timestep = dt
        model.opt.gravity[:] = self._bodies.gravity
        for solref in (model.jnt_solref, model.eq_solref):
            solref[:, 0], solref[:, 1] = 2.0 * dt, 1.0

    def _substep(self, bound: Bound, motors: MujocoMotors, dt: float) -> bool:
        """Make one substep; return False if there was too little memory for its contacts."""
        mujoco, model, data = mujoco_module(), bound.model, bound.data
        warnings = mujoco.mjtWarning.mjWARN_CONTACTFULL, mujoco.mjtWarning.mjWARN_CNSTRFULL
        full = sum(int(data.warning[kind].number) for kind in warnings)
        try:
            mujoco.mj_fwdPosition(model, data)
            if mix_surfaces(bound, self._time_constant):
                # The constraints again, now of these contacts.
                mujoco.mj_makeConstraint(model, data)
                mujoco.mj_island(model, data)
                mujoco.mj_projectConstraint(model, data)
            mujoco.mj_fwdVelocity(model, data)
            motors.aim(dt)
            self._forces.apply(bound)
            mujoco.mj_step2(model, data)
        except mujoco.FatalError:
            return False
        if sum(int(data.warning[kind].number) for kind in warnings) > full:
            return False
        motors.measure()
        # In each substep: a contact is gone in the one after its bodies fell asleep.
        self._resting.update(bound)
        return True

    def _grown(self, bound: Bound) -> Bound:
        if int(bound.model.narena) >= MOST_ARENA:
            raise StateError("MuJoCo has no room for the contacts of this world; spawn fewer dynamic bodies")
        log.debug("more memory for contacts: %d MB", 2 * int(bound.model.narena) // 2**20)
        return self._bodies.grow_arena()


def time_constant(erp: float, dt: float) -> float:
    """Return the time constant in s of contacts that correct the part `erp` of an overlap in `dt`."""
    slowest = 1e3
    if erp <= 0.0:
        return slowest
    # Faster than two substeps is more than MuJoCo's integration can follow.
    return max(2.0 * dt, -dt / math.log1p(-min(erp, 1.0 - 1e-9)))
