"""Motors of joints, as PyBullet has them: they change the velocity in each substep, with a limited force."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.joints import AT_FORCE, AT_VELOCITY
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.mujoco.bodies import Bound
from fleet_sim.mujoco.module import mujoco_module


class MujocoMotors:
    """The motors of the joints of one model.

    A motor is the friction of its joint, towards a velocity that is not 0: MuJoCo solves it together with contacts. A
    motor that is strong enough holds its velocity exactly, and a weak one gives way at its force.
    """

    def __init__(self, world: World, bound: Bound) -> None:
        self._bound = bound
        self.world = world
        joints = world.joints
        numbers = world.robots.model[bound.joint_row]
        models = [world.models[number] for number in numbers.tolist()]
        slots = bound.compiled.joints[:, 1].tolist()
        own = [float(model.friction[model.movable[slot]]) for model, slot in zip(models, slots, strict=True)]
        self._friction: Floats = np.array(own, np.float64)
        """Of the joints themselves (J,), from their files."""
        self._mimics = (joints.leader[bound.slots] != NO_ROW) & world.robots.mimics[bound.joint_row]
        self.efforts: Floats = np.zeros(len(own))
        """Forces (J,) of the motors in the last substep, in N or N m."""
        # Which joint each velocity of the model is of, -1 for those of free bodies.
        self._joint_of_dof = np.full(bound.model.nv, -1, np.int64)
        self._joint_of_dof[bound.joint_v] = np.arange(len(own))

    def fits(self, bound: Bound) -> bool:
        """Return whether these are the motors of `bound`."""
        return self._bound is bound

    def prepare(self) -> None:
        """Set what stays during a step: the forces that motors have, and those that are commanded."""
        bound, joints = self._bound, self.world.joints
        slots, data = bound.slots, bound.data
        forced = joints.control[slots] == AT_FORCE
        limits = np.minimum(joints.max_force[slots], joints.force_limit[slots])
        # The motors of followers are off: gears hold them to their leaders.
        bound.model.dof_frictionloss[bound.joint_v] = np.where(forced | self._mimics, self._friction, limits)
        self._commanded = np.where(forced & ~self._mimics, joints.command[slots], 0.0)
        data.qfrc_applied[bound.joint_v] = self._commanded
        joints.motor_behind[slots] = False

    def aim(self, dt: float) -> None:
        """Let the motors aim at the velocities of this substep; called when its constraints are known."""
        bound, joints = self._bound, self.world.joints
        data, slots = bound.data, bound.slots
        if not len(slots):
            return
        kinds = mujoco_module().mjtConstraint
        places = np.flatnonzero(data.efc_type == kinds.mjCNSTR_FRICTION_DOF)
        found = self._joint_of_dof[data.efc_id[places]]
        places, found = places[found >= 0], found[found >= 0]
        speeds = data.qvel[bound.joint_v[found]]
        control = joints.control[slots[found]]
        own = slots[found]
        errors = joints.target[own] - data.qpos[bound.joint_q[found]]
        aims = joints.position_gain[own] * errors / dt + speeds - joints.velocity_gain[own] * speeds
        aims = np.clip(aims, -joints.max_velocity[own], joints.max_velocity[own])
        rates = speeds + joints.velocity_gain[own] * (joints.command[own] - speeds)
        aims = np.where(control == AT_VELOCITY, rates, aims)
        aims = np.where((control == AT_FORCE) | self._mimics[found], 0.0, aims)
        data.efc_aref[places] = (aims - speeds) / dt
        self._places, self._found = places, found

    def measure(self) -> None:
        """Read the forces of the substep that was made."""
        if not len(self.efforts):
            return
        self.efforts = self._commanded.copy()
        self.efforts[self._found] += self._bound.data.efc_force[self._places]
