"""JointAction: move joints to target positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.actions.base import Until
from fleet_sim.actions.declared import DeclaredAction, as_given
from fleet_sim.actions.stall import BestDistance
from fleet_sim.arrays import NO_ROWS, Floats, Ints
from fleet_sim.config.modes import ActionCause, ActionStatus
from fleet_sim.core import joint_steering, mimic
from fleet_sim.core.joints import DEFAULT_FORCE, TO_POSITION
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.joint_values import JointNumbers, Tolerance, limits_cause, read_joint_numbers, read_tolerances
from fleet_sim.errors import FleetSimError
from fleet_sim.settings import setting


@dataclass(eq=False, repr=False)
class JointAction(DeclaredAction):
    """Move joints to targets: a list for all of them, or a mapping by name; COMPLETED when each is within tolerance.

    A `tolerance` of None is replaced by the agent's when the action starts. FAILED at once, with the cause, for
    an agent without such joints, a wrong number of targets, and targets beyond a joint's limits; FAILED later where
    motors cannot get there with `max_force` (N m or N). An action that does not complete leaves its joints where they
    are. The base may drive meanwhile.
    """

    moves_base: ClassVar[bool] = False

    target_joint_positions: JointNumbers = setting(
        reader=as_given, unit="rad or m", doc="Targets: a list for all movable joints, or a mapping by name or index."
    )
    max_force: float = setting(
        DEFAULT_FORCE, low=0.0, unit="N m or N", doc="Maximum force of the motors, if there are any."
    )
    tolerance: Tolerance = setting(
        None,
        reader=as_given,
        unit="rad or m",
        doc="Tolerance: a number, a list by joint index or a mapping by name; None: the agent's `joint_tolerance`.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._places: Ints = NO_ROWS
        self._targets: Floats = np.empty(0)
        self._tolerances: Floats = np.empty(0)
        self._best = BestDistance()

    def moves_joints(self, places: Ints) -> bool:
        """Return whether some of `places` are among the joints with targets."""
        return bool(np.isin(places, self._places).any())

    def start(self, agent: Agent) -> Until | None:
        """Command the joints to their targets."""
        model = agent.robot_model
        if model is None:
            self.fail("the agent was made from shapes and has no joints", ActionCause.INVALID_GOAL)
            return None
        cause = self._read(agent, model)
        if cause:
            self.fail(cause, ActionCause.INVALID_GOAL)
            return None
        self._best = BestDistance()
        targets = dict(zip(model.movable[self._places].tolist(), self._targets.tolist(), strict=True))
        agent.set_joints_targets(targets, self.max_force)
        # At once: joints that are there already end the action in this step.
        return self.update(agent, 0.0)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Check whether the joints have arrived."""
        joints, slots = agent.world.joints, self._slots(agent)
        left = np.abs(joints.position[slots] - self._targets)
        if bool((left <= self._tolerances).all()):
            self.complete()
            return None
        now = agent.world.clock.time
        if agent.uses_motors:
            self._watch(agent, left, now)
            return None
        # Without motors the time of arrival is known.
        # The slowest joint decides; until its time nobody has to look.
        wait = float(np.max((left - self._tolerances) / joints.max_velocity[slots]))
        return Until(joints=True, time=now + wait)

    def time_left(self, agent: Agent) -> float:
        """Return the time in s until all joints are exactly at their targets, moved at full speed."""
        joints, slots = agent.world.joints, self._slots(agent)
        left = np.abs(joints.position[slots] - self._targets)
        return float(np.max(left / joints.max_velocity[slots], initial=0.0))

    def stop(self, agent: Agent) -> None:
        """Hold the joints at their present positions, unless they have arrived."""
        if self.status is not ActionStatus.COMPLETED and len(self._places):
            slots = self._slots(agent)
            joints = agent.world.joints
            # Only joints still on their way to our targets: the others have a newer command.
            ours_mask = (joints.control[slots] == TO_POSITION) & (joints.target[slots] == self._accepted(agent))
            joint_steering.hold_joints(agent.world, slots[ours_mask])

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration and the largest remaining distance (rad or m) of a joint."""
        left = np.abs(agent.world.joints.position[self._slots(agent)] - self._targets)
        return {
            "phase": "moving",
            "duration": self.get_duration(),
            "distance_left": float(left.max()) if len(left) else 0.0,
        }

    def _read(self, agent: Agent, model: RobotModel) -> str:
        """Read targets and tolerances for `model`; return an error message, or ""."""
        try:
            self._places, self._targets = read_joint_numbers(model, self.target_joint_positions, "joint targets")
            if agent.world.robots.mimics[agent.row]:
                self._places, self._targets = mimic.without_followers(model, self._places, self._targets)
            # Kept, so that describing the action tells what it really used; past the rule that it stays from now on.
            if self.tolerance is None:
                vars(self)["tolerance"] = agent.joint_tolerance
            default = np.empty(len(model.movable))
            self._tolerances = read_tolerances(model, self.tolerance, default)[self._places]
        except FleetSimError as error:
            # No places, so that `stop` does not touch joints that were never commanded.
            self._places = NO_ROWS
            return str(error)
        cause = limits_cause(model, self._places, self._targets)
        if cause:
            self._places = NO_ROWS
        return cause

    def _slots(self, agent: Agent) -> Ints:
        slots: Ints = self._places + int(agent.world.robots.joint_start[agent.row])
        return slots

    def _accepted(self, agent: Agent) -> Floats:
        joints, slots = agent.world.joints, self._slots(agent)
        # What the joints were told: targets beyond a limit by less than the slack are cut.
        cut: Floats = np.clip(self._targets, joints.lower[slots], joints.upper[slots])
        return cut

    def _watch(self, agent: Agent, left: Floats, now: float) -> None:
        """Fail if the motors have made no progress for some time."""
        # Beyond the tolerance only: joints that tremble within it have arrived.
        beyond = np.maximum(left - self._tolerances, 0.0)
        self._best = self._best.after(float(beyond.sum()), now)
        if self._best.stalled(now):
            worst = int(np.argmax(beyond))
            model = agent.robot_model
            assert model is not None
            name = model.joint_names[model.movable[self._places[worst]]]
            self.fail(
                f"joint {name!r} stopped {left[worst]:g} short of its target {self._targets[worst]:g}: it is blocked, "
                f"or max_force {self.max_force:g} is too little",
                ActionCause.UNREACHABLE,
            )
