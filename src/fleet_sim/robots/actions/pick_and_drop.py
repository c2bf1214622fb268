"""Pick and Drop: drive to an approach pose and to the place, move the arm, attach or put down."""

from __future__ import annotations

import operator
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, as_floats
from fleet_sim.base.errors import FleetSimError, InvalidValueError, UnknownNameError
from fleet_sim.base.geometry import Path, Pose, calculate_offset_pose
from fleet_sim.base.limits import LONGEST_TIME
from fleet_sim.base.params import ActionCause, ActionStatus, MovementDirection
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import setting
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.base.spatial import quaternions
from fleet_sim.robots import attachments, drive
from fleet_sim.robots.actions.action import (
    BLOCKED_DOC,
    Action,
    DeclaredAction,
    Failure,
    Numbers,
    Until,
    as_given,
    immovable,
    read_point,
    read_turn,
)
from fleet_sim.robots.actions.joints import UNREACHABLE, JointAction, PoseAction
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.arm import TOLERANCE
from fleet_sim.robots.joint_arguments import JointNumbers, Tolerance, limits_cause, read_joint_numbers, read_tolerances
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.world.commands import BodyId, ObjectId
from fleet_sim.world.conditions import FAILED, action_fails
from fleet_sim.world.joints import DEFAULT_FORCE
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.shapes import BASE
from fleet_sim.world.world import World

# ArmMove: the arm motion before an object is picked or dropped.


@dataclass(kw_only=True)
class ArmTarget:
    """The arm settings of Pick and Drop: joint targets, or an end effector target, or neither."""

    joint_targets: JointNumbers | None = setting(
        None, reader=as_given, unit="rad or m", doc="Joint targets before acting, see JointAction."
    )
    joint_tolerance: Tolerance = setting(None, reader=as_given, unit="rad or m", doc="Of `joint_targets`.")
    joint_max_force: float = setting(
        DEFAULT_FORCE, low=0.0, unit="N m or N", doc="Maximum force of the joints' motors."
    )
    ee_target_position: Numbers | None = setting(
        None, reader=read_point, unit="m", doc="End effector position before acting, world frame, see PoseAction."
    )
    ee_target_orientation: Numbers | None = setting(
        None, reader=read_turn, doc="End effector orientation there, xyzw, world frame."
    )
    ee_end_effector_link: int | str | None = setting(None, doc="Link used as end effector; None: the robot's own.")
    ee_tolerance: float = setting(TOLERANCE, low=0.0, unit="m", doc="How near it has to come.")
    continue_on_ik_failure: bool = setting(True, doc="Continue even if the end effector cannot reach its target.")
    use_arm: bool = setting(False, doc="Move the end effector to the object, or to its drop place.")


@saved
@dataclass
class ArmMove(ArmTarget):
    """The arm motion before the robot attaches or detaches an object; none if no target is given.

    Raises InvalidValueError for more than one of `joint_targets`, `ee_target_position` and `use_arm`.
    """

    def __post_init__(self) -> None:
        """Check that one way at most says where the arm goes; raises InvalidValueError.

        An orientation needs a position, or `use_arm`, and must be a quaternion (4,) xyzw of a length above 0.
        """
        ways = {
            "joint_targets": self.joint_targets is not None,
            "ee_target_position": self.ee_target_position is not None,
            "use_arm": self.use_arm,
        }
        given = [name for name, is_given in ways.items() if is_given]
        if len(given) > 1:
            raise InvalidValueError(f"{' and '.join(given)}: give one of them; both say where the arm goes")
        if self.ee_target_orientation is not None:
            # Without a position there is nothing that the orientation could be of.
            if not (self.use_arm or self.ee_target_position is not None):
                raise InvalidValueError("ee_target_orientation needs ee_target_position or use_arm")
            quaternions.normalized(np.asarray(self.ee_target_orientation)[None], "ee_target_orientation")

    @classmethod
    def of(cls, settings: ArmTarget) -> ArmMove:
        """Return the arm's part of an action's settings."""
        return cls(**{name: getattr(settings, name) for name in fields_of(cls)})

    @property
    def is_given(self) -> bool:
        """Whether the arm moves at all."""
        return self.use_arm or self.joint_targets is not None or self.ee_target_position is not None

    def hindrance(self, agent: Agent) -> Failure | None:
        """Return why the agent cannot make this motion at all, or None."""
        cause = self._cause(agent) if self.is_given else ""
        return Failure(cause, ActionCause.INVALID_GOAL) if cause else None

    def _cause(self, agent: Agent) -> str:
        """Return why the arm of `agent` cannot make this move; "" where it can, as far as its model tells."""
        model = agent.robot_model
        if model is None:
            return "the agent was made from shapes and has no joints"
        try:
            if self.joint_targets is not None:
                # Read only to find out whether they can be: the action itself reads them again when it runs.
                read_tolerances(model, self.joint_tolerance, np.zeros(len(model.movable)))
                return limits_cause(model, *read_joint_numbers(model, self.joint_targets, "joint targets"))
            if self.ee_end_effector_link is not None:
                model.link_index(self.ee_end_effector_link)
        except FleetSimError as error:
            return str(error)
        return ""

    def make(self, reach_for: Any) -> Action | None:
        """Return the action that moves the arm, None if it stays; `reach_for` is its target with `use_arm`."""
        if self.joint_targets is not None:
            return JointAction(self.joint_targets, self.joint_max_force, self.joint_tolerance)
        position = reach_for if self.use_arm else self.ee_target_position
        if position is None:
            return None
        link, force = self.ee_end_effector_link, self.joint_max_force
        return PoseAction(position, self.ee_target_orientation, link, force, self.ee_tolerance)

    def forgives(self, action: Action) -> bool:
        """Return whether the sequence may continue although the move failed."""
        return self.continue_on_ik_failure and action.error_message == UNREACHABLE


@dataclass(eq=False, repr=False)
class TransferAction(ArmTarget, DeclaredAction):
    """Approach, move in, reach out, act, retreat. A subclass defines the place and the act.

    `phase` is one of `phases`: initial, approaching, moving in, acting, retreating.
    """

    heeds_obstacles: ClassVar[bool] = True
    phases: ClassVar[tuple[Any, Any, Any, Any, Any]]

    _: KW_ONLY
    use_approach: bool = setting(
        True, doc="Drive there and back; False: the base stays, for arms with a fixed base or robots that are there."
    )
    approach_pose: Pose | None = setting(
        None, doc="Pose to drive to first and to retreat to; None: `approach_offset` before the place, facing it."
    )
    approach_offset: float = setting(1.0, low=0.0, unit="m", doc="Distance from the place to the approach pose.")
    move_skip_threshold: float = setting(
        0.05, low=0.0, unit="m", doc="Minimum distance to drive; shorter moves are skipped."
    )
    blocked_timeout: float | None = setting(None, low=0.0, high=LONGEST_TIME, unit="s", doc=BLOCKED_DOC)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.arm = ArmMove.of(self)
        self.phase: Any = self.phases[0]
        self._arm_action: Action | None = None
        self._away: Pose | None = None
        self._near: Pose | None = None

    # ---- to override -------------------------------------------------------------------------------------------------

    @property
    def place_offset(self) -> float:
        """Distance (m) from the place at which the robot stops."""
        raise NotImplementedError

    def prepare(self, agent: Agent) -> Failure | None:
        """Find the object; return why that is impossible, or None."""
        raise NotImplementedError

    def hindrance(self, agent: Agent) -> Failure | None:
        """Return why the action cannot continue, or None."""
        raise NotImplementedError

    def place(self, agent: Agent) -> Pose:
        """Return the place of the object, or its drop place."""
        raise NotImplementedError

    def reach_for(self, agent: Agent) -> Floats | None:
        """Return the target (3,) of the arm with `use_arm`."""
        raise NotImplementedError

    def is_stopped_by(self, agent: Agent, obstacle: SimObject | None) -> bool:
        """Return whether `obstacle`, which stands before the robot, is what it was to come to."""
        return False

    def act(self, agent: Agent) -> Failure | None:
        """Attach or detach the object; return why that is impossible, or None."""
        raise NotImplementedError

    # ---- the sequence ------------------------------------------------------------------------------------------------

    def start(self, agent: Agent) -> Until | None:
        """Check the request and start driving."""
        self.phase = self.phases[0]
        # Before driving: what is wrong with the arm's target is said at once and not at the object.
        hindrance = self.arm.hindrance(agent) or self.prepare(agent)
        if hindrance is None and self.use_approach:
            hindrance = immovable(agent)
        if hindrance is not None:
            self.fail(*hindrance)
            return None
        if not self.use_approach:
            return self._reach(agent)
        here, place = agent.get_pose(), self.place(agent)
        self._away = self.approach_pose or calculate_offset_pose(place, here, self.approach_offset)
        self.phase = self.phases[1]
        # Only the pose to approach from: what is picked may be a static body, or stand in one.
        if self.fail_inside(agent, Path([self._away])):
            return None
        return self._drive(agent, self._away, None) or self._move_in(agent)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Start the next phase when the robot, or its arm, has arrived."""
        if self._arm_action is not None:
            return self._follow_arm(agent, self._arm_action, self._arm_action.proceed(agent, dt))
        if not agent.is_goal_reached():
            # It has come as near to the object as it gets.
            if self.phase == self.phases[2] and self.is_stopped_by(agent, agent.blocked_by):
                drive.stop(agent.world, np.array([agent.row]))
                return self._reach(agent)
            if self.fail_blocked(agent):
                return None
            # Its path was taken away, as by a stop.
            if agent.goal_pose is None:
                self.fail("the robot no longer drives to the goal")
            return Until(arrival=True)
        if self.phase == self.phases[1]:
            return self._move_in(agent)
        if self.phase == self.phases[2]:
            return self._reach(agent)
        self.complete()
        return None

    def _fails(self, hindrance: Failure | None) -> bool:
        """Fail where there is a hindrance; return whether there is."""
        if hindrance is not None:
            self.fail(*hindrance)
        return hindrance is not None

    def _move_in(self, agent: Agent) -> Until | None:
        """Drive from the approach pose to the object, then reach for it; fails where something is in the way now."""
        # Asked again before each phase: somebody else may have taken the object meanwhile.
        if self._fails(self.hindrance(agent)):
            return None
        self.phase = self.phases[2]
        assert self._away is not None
        # Computed again, as the object may have moved while the robot was driving.
        self._near = calculate_offset_pose(self.place(agent), self._away, self.place_offset)
        return self._drive(agent, self._near, None) or self._reach(agent)

    def _reach(self, agent: Agent) -> Until | None:
        """Move the arm, if it is used, then act."""
        self.phase = self.phases[3]
        if self._fails(self.hindrance(agent)):
            return None
        action = self._arm_action = self.arm.make(self.reach_for(agent))
        return self._act(agent) if action is None else self._follow_arm(agent, action, action.begin(agent))

    def _follow_arm(self, agent: Agent, action: Action, until: Until | None) -> Until | None:
        """Wait for the arm's action; act when it has ended."""
        if not action.is_complete():
            return until
        # It is in no queue, so nobody else cleans up after it.
        action.stop(agent)
        self._arm_action = None
        if action.status is ActionStatus.COMPLETED or self.arm.forgives(action):
            return self._act(agent)
        self.fail(action.error_message or "the arm did not get there", action.cause or ActionCause.FAILED)
        return None

    def _act(self, agent: Agent) -> Until | None:
        """Attach or detach, then back away to the approach pose if there is one; completes where there is not."""
        slips = Failure(FAILED, ActionCause.DISTURBED) if action_fails(agent.world, agent.row) else None
        if self._fails(slips or self.act(agent)):
            return None
        if not self.use_approach or self._away is None:
            self.complete()
            return None
        self.phase = self.phases[4]
        # Backwards: in front of the object there may be no room to turn round.
        until = self._drive(agent, self._away, MovementDirection.BACKWARD)
        if until is None:
            self.complete()
        return until

    def _drive(self, agent: Agent, pose: Pose, direction: MovementDirection | None) -> Until | None:
        """Start driving to `pose`; return None if the robot is already there."""
        if agent.get_pose().distance_to(pose) <= self.move_skip_threshold:
            return None
        agent.begin_path([pose], True, direction, blocked_timeout=self.blocked_timeout)
        return Until(arrival=True)

    def parts(self) -> list[Action]:
        """Return the action that moves the arm."""
        return [] if self._arm_action is None else [self._arm_action]

    def moves_joints(self, places: Ints) -> bool:
        """Return whether the arm is moving some of the joints at `places`."""
        return self._arm_action is not None and self._arm_action.moves_joints(places)

    def stop(self, agent: Agent) -> None:
        """Stop the arm."""
        action = self._arm_action
        if action is not None:
            action.cancel()
            action.stop(agent)
            self._arm_action = None

    def reset(self) -> None:
        """Make the action ready to start again."""
        super().reset()
        self.phase = self.phases[0]
        self._away = self._near = self._arm_action = None

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration and remaining distance (m) to the robot's current goal."""
        if self._arm_action is not None:
            left = self._arm_action.progress(agent)["distance_left"]
        else:
            goal = agent.goal_pose
            left = agent.get_pose().distance_to(goal) if goal is not None else 0.0
        return {
            "phase": str(self.phase.value),
            "blocked_by": self.blocked_by or "",
            "duration": self.get_duration(),
            "distance_left": left,
        }


# Targets of actions: an object given by handle, name, object id or body id.


Target = SimObject | str | int
"""A handle, a name or `#<object id>`, a body id or an object id; see `row_of_target`."""

TARGET_DOC = "A SimObject, a name (or #<object id>), its `body_id` or its `object_id`; None: "
TARGET_SCHEMA = {"type": ["integer", "string", "null"]}


def read_target(value: object) -> Target | None:
    """Return a valid target, or None for None; raises InvalidValueError."""
    if value is None or isinstance(value, (SimObject, str, ObjectId, BodyId)):
        return value
    try:
        if not isinstance(value, bool):
            # This also takes NumPy's integers, and no floats.
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise InvalidValueError(f"must be a SimObject, a name, or a whole number (a body id), got {value!r}")


def row_of_target(world: World, target: Target) -> int:
    """Return the row of the target; raises UnknownNameError.

    The values of `body_id` and `object_id` are distinguished by type. A plain int, as PyBullet's rays give it, is a
    body id if there is such a body, otherwise an object id.
    """
    if isinstance(target, SimObject):
        if target.world is not world or not target.is_alive:
            raise UnknownNameError(f"{target!r} is not, or no longer, in this simulation")
        return target.row
    if isinstance(target, str):
        if not world.index.has_name(target) and target.startswith("#") and target[1:].isdecimal():
            return world.index.row_of(int(target[1:]))
        return world.index.row_named(target)
    if isinstance(target, BodyId):
        return world.index.row_of(target.object_id)
    if isinstance(target, ObjectId):
        return world.index.row_of(target)
    return _row_of_number(world, target)


def _row_of_number(world: World, number: int) -> int:
    """Return the row of a number, which is a body id or else an object id.

    Raises UnknownNameError for a number that is neither, and for a body that stands for no entity.
    """
    row = world.bodies.row_of_body(number)
    if row != NO_ROW:
        return row
    # A ray that met the floor must not mean the object which happens to have that number.
    other = world.bodies.other_body(number)
    if other:
        raise UnknownNameError(f"the body {number} is {other}, and no object")
    try:
        return world.index.row_of(number)
    except UnknownNameError:
        raise UnknownNameError(f"no object has the body id or the object id {number}") from None


def target_text(target: SimObject | BodyId | ObjectId) -> str:
    """Return `target` as text that means the same object."""
    if isinstance(target, SimObject):
        return target.world.label(target.row)
    return f"#{target.object_id if isinstance(target, BodyId) else int(target)}"


# Pick: pick up an object.


NOT_FOUND = Failure("Target object not found or not pickable", ActionCause.UNKNOWN_OBJECT)


@saved
class PickPhase(Enum):
    """The phases of a Pick."""

    INIT = "init"
    APPROACHING = "approaching"
    MOVING_TO_PICK = "moving_to_pick"
    PICKING = "picking"
    RETREATING = "retreating"


@dataclass(eq=False, repr=False)
class Pick(TransferAction):
    """Drive up to an object, attach it and drive back.

    With `use_approach` the robot goes to the approach pose, then to `pick_offset` m from the object, takes it, and goes
    back to the approach pose.

    Before it takes the object the robot moves its arm, if it is told how: to `joint_targets`, or with the end effector
    to `ee_target_position`, or, with `use_arm`, to the object. An end effector that cannot get there goes as near as it
    can. With `use_arm` the end effector takes the object where it is, unless another link or pose is given.

    The object is taken from where it is when the robot, or its arm, has done that: without `use_approach` at once, from
    any distance up to `reach`.

    FAILED with "Target object not found or not pickable" when there is none, when it has gone meanwhile, or when a bare
    number means two objects (see `row_of_target`); with "IK target was not reachable"; with the cause where the robot
    has no such link or joints, cannot drive, or stands too far away.
    """

    phases = (PickPhase.INIT, PickPhase.APPROACHING, PickPhase.MOVING_TO_PICK, PickPhase.PICKING, PickPhase.RETREATING)

    target_object_id: Target | None = setting(
        None, reader=read_target, schema=TARGET_SCHEMA, doc=TARGET_DOC + "the nearest free pickable object."
    )
    target_position: Numbers | None = setting(
        None,
        reader=read_point,
        unit="m",
        doc="Centre of the search for the nearest object, world frame; None: the robot.",
    )
    search_radius: float = setting(0.5, low=0.0, unit="m", doc="Maximum distance of the object from the search centre.")
    use_2d_search: bool = setting(True, doc="Ignore heights in the search.")
    _: KW_ONLY
    pick_offset: float = setting(0.0, low=0.0, unit="m", doc="Distance from the object at which the robot stops.")
    attach_link: int | str = setting(BASE, doc="Link that carries the object: index or name, -1 is the base.")
    attach_relative_pose: Pose | None = setting(
        None, doc="Pose of the object in that link's frame; None: the origin, or with `use_arm` its pose."
    )
    keep_world_pose: bool = setting(False, doc="Attach the object at its present pose.")
    reach: float | None = setting(
        None,
        low=0.0,
        unit="m",
        doc="Maximum distance of the object from the link that takes it, when it does; None: any, as of sim/attach.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep_world_pose and self.attach_relative_pose is not None:
            raise InvalidValueError("attach_relative_pose and keep_world_pose: give one of them")
        if self.use_arm and self.attach_relative_pose is None:
            # The arm takes the object where it is; pulling it to the origin of the link would be a jump.
            vars(self)["keep_world_pose"] = True
        self._offset = self.attach_relative_pose or Pose((0.0, 0.0, 0.0))
        self._link: int | str = self.attach_link
        self._target: SimObject | None = None

    @property
    def target(self) -> SimObject | None:
        """The object being picked, once the action has started."""
        return self._target

    @property
    def place_offset(self) -> float:
        """Distance (m) from the object at which the robot stops."""
        return self.pick_offset

    def prepare(self, agent: Agent) -> Failure | None:
        """Find link and object."""
        try:
            # A link that was named is meant, also when the arm moves.
            by_hand = self.use_arm and self.attach_link == BASE
            link = agent.end_effector(self.ee_end_effector_link) if by_hand else self.attach_link
            self._link = attachments.link_index(agent.world, agent.row, link)
        except FleetSimError as error:
            return Failure(str(error), ActionCause.INVALID_GOAL)
        try:
            self._target = self._find(agent)
        except UnknownNameError as error:
            return Failure(f"{NOT_FOUND.message}: {error}", ActionCause.UNKNOWN_OBJECT)
        return self.hindrance(agent)

    def hindrance(self, agent: Agent) -> Failure | None:
        """Check that the object still exists and is free."""
        # A robot may not pick what is not there, not free, or itself.
        target = self._target
        if target is None or not target.is_alive or not self._free(agent, target):
            return NOT_FOUND
        if _carries(target, agent):
            return Failure("the object carries the robot", ActionCause.UNKNOWN_OBJECT)
        return None

    def place(self, agent: Agent) -> Pose:
        """Return the object's place at the robot's height."""
        # The robot drives on its own level; the arm goes up or down.
        assert self._target is not None
        x, y, _ = self._target.get_pose().position
        return Pose((x, y, agent.get_pose().z))

    def reach_for(self, agent: Agent) -> Floats | None:
        """Return the end effector position at which the object can be attached without moving it."""
        assert self._target is not None
        return before_offset(self._target.position, self._offset, self.ee_target_orientation)

    def is_stopped_by(self, agent: Agent, obstacle: SimObject | None) -> bool:
        """Return whether `obstacle`, which stands before the robot, is the object to pick."""
        return obstacle is not None and obstacle == self._target

    def act(self, agent: Agent) -> Failure | None:
        """Attach the object."""
        # Asked again: others may have taken or removed the object on the way to it.
        hindrance = self.hindrance(agent)
        if hindrance is not None or self._target is None:
            return hindrance or NOT_FOUND
        far = attachments.out_of_reach(
            agent.world,
            self._target.row,
            agent.row,
            attachments.link_index(agent.world, agent.row, self._link),
            self.reach,
        )
        if far:
            return Failure(far, ActionCause.UNREACHABLE)
        offset = None if self.keep_world_pose else self._offset
        attached = agent.attach_object(self._target, self._link, offset, keep_world_pose=self.keep_world_pose)
        return None if attached else NOT_FOUND

    def _find(self, agent: Agent) -> SimObject | None:
        """Return the object to pick, the nearest one where none is named; None where there is none in reach."""
        world = agent.world
        wanted = self.target_object_id
        if wanted is None:
            # Found when it starts, not when it was made: the nearest one may be another by then.
            centre = None if self.target_position is None else np.asarray(self.target_position).tolist()
            return agent.find_nearest_pickable(self.search_radius, centre, self.use_2d_search)
        target: SimObject = world.handles[row_of_target(world, wanted)]
        return target

    @staticmethod
    def _free(agent: Agent, target: SimObject) -> bool:
        # What the robot holds already may be taken again, with another link.
        return target.pickable and target != agent and target.attached_to in (None, agent)

    def reset(self) -> None:
        """Make the action ready to start again."""
        super().reset()
        self._target = None


def before_offset(place: Floats, offset: Pose, orientation: Any) -> Floats:
    """Return where a link is to be, (3,), for its `offset` to be at `place`; where its `orientation` is not known
    the offset is taken as none.
    """
    if orientation is None:
        return place
    turn = quaternions.normalized(np.asarray(orientation, float)[None])
    arm: Floats = quaternions.rotate(turn, np.array([offset.position]))[0]
    return place - arm


def _carries(target: SimObject, agent: Agent) -> bool:
    """Return whether `agent` stands on `target`, directly or on something it carries."""
    holder = agent.attached_to
    # Without this check a carrier would carry itself, in a circle without end.
    while holder is not None and holder != target:
        holder = holder.attached_to
    return holder is not None


# Drop: put a carried object down.


@saved
class DropPhase(Enum):
    """The phases of a Drop."""

    INIT = "init"
    APPROACHING = "approaching"
    MOVING_TO_DROP = "moving_to_drop"
    DROPPING = "dropping"
    RETREATING = "retreating"


def read_place(value: object) -> Pose | None:
    """Return a Pose, or a position (3,) as a Pose without rotation; raises InvalidValueError."""
    if value is None or isinstance(value, Pose):
        return value
    return Pose(as_floats(value, (3,), "a Pose or a position").tolist())


@dataclass(eq=False, repr=False)
class Drop(TransferAction):
    """Drive to a place, detach an object there and drive back.

    The object goes to `drop_pose`, `drop_height` m above it unless `place_gently`, or, with `drop_relative_pose`, to
    where it is moved by that pose, or, without `use_approach` and `drop_pose`, stays where it is. The way there is as
    in Pick, and so is what the arm does before the object is let go; with `use_arm` it goes to `drop_pose`.

    FAILED with the cause when the agent does not carry the object, and as Pick does.
    """

    phases = (DropPhase.INIT, DropPhase.APPROACHING, DropPhase.MOVING_TO_DROP, DropPhase.DROPPING, DropPhase.RETREATING)

    drop_pose: Pose | Numbers | None = setting(
        None, reader=read_place, unit="m", doc="Pose or position to put the object at, world frame."
    )
    _: KW_ONLY
    drop_offset: float = setting(0.0, low=0.0, unit="m", doc="Distance from the drop place at which the robot stops.")
    place_gently: bool = setting(True, doc="Put the object exactly at its place; False: `drop_height` above.")
    drop_height: float = setting(
        0.1, low=0.0, unit="m", doc="Height from which the object is dropped, without `place_gently`."
    )
    target_object_id: Target | None = setting(
        None, reader=read_target, schema=TARGET_SCHEMA, doc=TARGET_DOC + "the first one carried."
    )
    drop_relative_pose: Pose | None = setting(None, doc="Move the object by this pose, relative to its present pose.")

    def __post_init__(self) -> None:
        super().__post_init__()
        # A place is needed to drive to, and for the arm to reach; dropping on the spot needs none.
        if self.drop_pose is None and (self.use_approach or self.use_arm):
            raise InvalidValueError("drop_pose: needed, unless use_approach is False and the arm need not find it")
        self._place = read_place(self.drop_pose)

    @property
    def place_offset(self) -> float:
        """Distance (m) from the place at which the robot stops."""
        return self.drop_offset

    # The object may be dropped, removed or taken away while the robot drives.
    def prepare(self, agent: Agent) -> Failure | None:
        """Check that the object is carried."""
        return self.hindrance(agent)

    def hindrance(self, agent: Agent) -> Failure | None:
        """Check that the object is still carried."""
        try:
            return None if self._carried(agent) is not None else self._missing()
        except UnknownNameError as error:
            return Failure(f"{self._missing().message}: {error}", ActionCause.UNKNOWN_OBJECT)

    def place(self, agent: Agent) -> Pose:
        """Return the place at the robot's height."""
        assert self._place is not None
        x, y, _ = self._place.position
        # The robot drives on its own level; only the object goes up or down.
        return Pose((x, y, agent.get_pose().z))

    def reach_for(self, agent: Agent) -> Floats | None:
        """Return the end effector position that brings the object to its place."""
        target = self._carried(agent)
        if target is None or self._place is None:
            return None
        world, row = agent.world, target.row
        # Where the object is held, so that the object and not the hand comes to the place.
        held = Pose(world.attach_position[row].tolist(), world.attach_orientation[row].tolist())
        return before_offset(np.array(self._place.position), held, self.ee_target_orientation)

    def act(self, agent: Agent) -> Failure | None:
        # Asked again: much may have happened on the way.
        """Detach the object."""
        hindrance = self.hindrance(agent)
        target = None if hindrance is not None else self._carried(agent)
        if target is None:
            return hindrance or self._missing()
        if self.drop_relative_pose is not None:
            agent.detach_object(target, drop_relative_pose=self.drop_relative_pose)
            return None
        pose = self._place
        if pose is not None and not self.place_gently:
            pose = Pose((pose.x, pose.y, pose.z + self.drop_height), pose.orientation)
        agent.detach_object(target, drop_pose=pose)
        return None

    def _carried(self, agent: Agent) -> SimObject | None:
        wanted = self.target_object_id
        carried = agent.get_attached_objects()
        if wanted is None:
            return carried[0] if carried else None
        # Any carried object has a handle; another robot's does not count.
        target: SimObject = agent.world.handles[row_of_target(agent.world, wanted)]
        return target if target in carried else None

    def _missing(self) -> Failure:
        wanted = self.target_object_id
        message = "No object attached" if wanted is None else f"Object {wanted!r} is not attached to the agent"
        return Failure(message, ActionCause.UNKNOWN_OBJECT)


PickAction = Pick
"""Another name of it."""
DropAction = Drop
"""Another name of it."""
