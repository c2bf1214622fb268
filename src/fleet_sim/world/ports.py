"""The seams of the world: what handles need of the rooms above, and what a simulation asks of an engine of physics.

These protocols are the only way to reach upwards. A simulation connects the parts to its world once, as `Parts`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import StateError
from fleet_sim.base.params import ActionCause
from fleet_sim.base.registry import saved
from fleet_sim.world.state_files import Stateful

# Contact points found by the physics engine.


Vector = tuple[float, float, float]


class Contact(NamedTuple):
    """A point where an entity touches another; `other` is its handle, None for the floor or a body without an entity.

    `position` is on the other's surface and `normal` points from there to the entity, both in the world frame;
    `distance` (m) is negative where they overlap. `normal_force` (N) is the force of the other along the normal, and
    `friction` (N, world frame) its force along the surface. Links are numbered as in PyBullet, -1 is the base.
    """

    other: object | None
    link: int
    other_link: int
    position: Vector
    normal: Vector
    distance: float
    normal_force: float
    friction: Vector


class ActionQueues(Protocol):
    """The action queues of all agents."""

    def add(self, row: int, action: Any, goal: str = "") -> None:
        """Append `action` to the queue of the agent in `row`; `goal` is its id for `cancel_goal`."""

    def parse(self, action_type: str, params: Any) -> Any:
        """Return a new action from its name and parameters."""

    def check(self, action: Any) -> None:
        """Raise an error if `action` cannot be added to a queue."""

    def cancel(self, row: int, reason: str, cause: ActionCause = ActionCause.PREEMPTED) -> bool:
        """End the running and all queued actions as CANCELLED with `reason`; return whether there were any."""

    def cancel_base(self, row: int, reason: str, cause: ActionCause = ActionCause.PREEMPTED) -> bool:
        """Like `cancel`, but a running action that only moves joints continues."""

    def cancel_joints(self, row: int, places: Ints, reason: str) -> bool:
        """Like `cancel` if the running action moves some of the joints at `places` (K,); else do nothing."""

    def cancel_goal(self, row: int, goal: str, reason: str) -> bool:
        """End the actions with the id `goal` as CANCELLED; return whether there were any."""

    def describe(self, action: Any) -> dict[str, Any]:
        """Return `action` as its type and parameters, the inverse of `parse`."""

    def busy(self, rows: Rows) -> Rows:
        """Return the `rows` with a running or waiting action: for others `cancel` does nothing."""

    def current(self, row: int) -> Any | None:
        """Return the running action, or None."""

    def queued(self, row: int) -> int:
        """Return the number of running and waiting actions."""

    def with_rows(self) -> list[tuple[int, Any]]:
        """Return all running and waiting actions with their rows."""


class BodyRegistry(Protocol):
    """The bodies of entities in the engine, by the numbers that users know them by."""

    def body_id(self, row: int) -> int:
        """Return the number of the body of the entity, creating it if needed."""

    def body_id_for_user(self, row: int) -> int:
        """As `body_id`, for users, who may use it with the engine's own functions later."""

    def row_of_body(self, body: int) -> int:
        """Return the row of the entity with this number, NO_ROW for none; missing bodies are created first."""

    def other_body(self, body: int) -> str:
        """Return what a number is that stands for no entity, such as the floor's; "" where it is nothing."""

    def pose_written(self, rows: Rows) -> None:
        """Mark poses of `rows` as changed from outside a step."""

    def push(self, row: int, force: Floats, position: Floats | None) -> None:
        """Push the entity with `force` (3,) in N, world frame, for the next step; at its centre of mass or a point."""

    def twist(self, row: int, torque: Floats) -> None:
        """Turn the entity with `torque` (3,) in Nm, world frame, for the next step."""

    def contacts(self, row: int) -> list[Contact]:
        """Return the contacts of the entity in the last step of physics."""


BodiesAt: TypeAlias = Callable[[Rows, Floats, Floats, Bools, Floats], Rows]
"""Given rows (N,), poses of their bases (N, 3) and (N, 4), which of them are aligned, and depths that do not count (N,)
in m, return the static body (N,) that each would be inside of; NO_ROW for none. Of those that are not aligned any
heading counts: what is free at some heading is free."""


class RobotLinks(Protocol):
    """The links of robots."""

    def link_poses(self, rows: Rows, links: Ints) -> tuple[Floats, Floats]:
        """Return the world poses (N, 3), (N, 4) of one link per row; -1 is the base."""

    def link_velocities(self, rows: Rows, links: Ints, points: Floats) -> tuple[Floats, Floats]:
        """Return linear velocities (N, 3) of world `points` fixed to one link per row, and angular ones (N, 3)."""

    def body_frames(self, rows: Rows) -> tuple[Floats, Ints]:
        """Return frames (3, 4, B + 1, R) of bodies of robots of one model, and the column (N,) of each of `rows`."""

    def refresh_boxes(self) -> Rows:
        """Update the boxes of robots whose joints moved; return their rows."""


class Sensors(Protocol):
    """The sensors of all entities."""

    def plan(self, specs: Any) -> Sequence[Any]:
        """Return the checked plans for a list of specs."""

    def mount(self, rows: Rows, plans: Sequence[Any]) -> None:
        """Mount the planned sensors on each of `rows`."""

    def place(self, specs: Any, *, source: str = "") -> list[Any]:
        """Add sensors fixed in the world, described by a list of specs, and return them."""

    def of(self, row: int) -> list[Any]:
        """Return the sensors of the entity."""

    def named(self, row: int, name: str) -> Any:
        """Return the sensor `name` of the entity."""


class MotionLaws(Protocol):
    """The motion laws by name."""

    def names(self) -> Sequence[str]:
        """Return the names in order of the laws' indices in `world.motion.law`; index 0 means "cannot move"."""

    def index(self, name: str) -> int:
        """Return the index of a law, loading it if it is from another package; raises UnknownNameError."""

    def feature(self, index: int) -> str | None:
        """Return the feature that robots with the law of this index need, or None."""


class EntityFeatures(Protocol):
    """The features that entities have besides a body."""

    def use(self, name: str) -> Any:
        """Start to use a feature, unless it is in use; return the result of its `start`."""

    def give(self, name: str, rows: Rows, settings: Any = None) -> None:
        """Give living entities a feature; raises what it refuses them with."""

    def enter(self, names: Sequence[str], rows: Rows) -> None:
        """Let features take in entities that were spawned with them; raises what a feature refuses them with."""

    def handle(self, name: str, entity: Any) -> Any:
        """Return the feature of one entity."""


_PARTS = {
    "actions": "action system",
    "bodies": "engine",
    "bodies_at": "blocking",
    "links": "kinematics",
    "sensors": "sensor system",
    "laws": "motion laws",
    "plan_controller": "registry of controllers",
    "features": "features",
}


class RobotRadio(Protocol):
    """Carries what robots send to others, where that does not come at once."""

    def disturbed(self, rows: Rows) -> Bools:
        """Return which of `rows` (N,) send messages that may come otherwise than at once."""

    def send(self, row: int, channel: str, carry: Callable[[], object], *, resent: bool = False) -> None:
        """Call `carry()` when a message of a robot comes: now, later, twice or never; it is `resent` where it is lost.

        Messages of one `channel` keep their order, unless the radio is such that they do not.
        """


class PoseQuality(NamedTuple):
    """What a robot knows of how well it knows its place: whether at all, how well (1: best), to how many m."""

    localized: bool
    score: float
    deviation: float


class PoseErrors(Protocol):
    """What robots believe of where they are."""

    def quality(self, row: int) -> PoseQuality:
        """Return what a robot knows of its own errors."""

    def believed(self, rows: Rows, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
        """Return the poses (N, 3), (N, 4) that `rows` believe to have, given those that the columns hold now."""


class ConnectedParts:
    """The systems above a world, as its attributes: how handles, which have a world and a row only, reach them.

    Whoever builds a simulation sets them. A world without one works until it is used, which raises StateError.
    """

    actions: ActionQueues
    bodies: BodyRegistry
    bodies_at: BodiesAt
    links: RobotLinks
    sensors: Sensors
    laws: MotionLaws
    plan_controller: Callable[[Any], Any]
    """Returns the checked ControllerPlan for the `controller` of a spawn entry."""
    features: EntityFeatures

    def has_part(self, name: str) -> bool:
        """Return whether the world has the part of this name."""
        return name in vars(self)

    # Hidden from type checkers, for which a class with this method has every attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _PARTS:
                raise StateError(f"this world has no {_PARTS[name]}; use MultiRobotSimulationCore")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


# PhysicsEngine: what a simulation asks of the engine that moves its dynamic bodies, whichever that is.


@saved
class MeasuredJoint(NamedTuple):
    """A joint of an entity: its row and generation, and the index of the joint, which is that of its link."""

    row: int
    generation: int
    joint: int


NOT_MEASURED = (math.nan,) * 6


class JointSensing(Stateful):
    """Measures what acts in chosen joints in each step of physics; an engine fills `_wrenches`.

    A wrench is what the parent applies to the link: a force and a torque about the origin of the link frame, (6,), in
    that frame, motors included. A checkpoint has the measurements of the last step.
    """

    STATE = ("_wrenches",)

    def __init__(self, generations: Callable[[Rows], Ints]) -> None:
        """`generations(rows)` returns the generation of the entity in each of `rows` (N,)."""
        self._generations = generations
        self._wanted: dict[MeasuredJoint, int] = {}
        """The joints to be measured, each with a number for the engine; -1 at first."""
        self._wrenches: dict[MeasuredJoint, tuple[float, ...]] = {}

    def want(self, rows: Rows, joints: Ints) -> None:
        """Measure `joints` (N,) of `rows` (N,) from the next step on."""
        for key in self._keys(rows, joints):
            self._wanted.setdefault(key, -1)

    def wrenches(self, rows: Rows, joints: Ints) -> Floats:
        """Return the wrenches (N, 6) in the last step; NaN where there was none, or the engine did not move the row."""
        known = [self._wrenches.get(key, NOT_MEASURED) for key in self._keys(rows, joints)]
        return np.array(known, np.float64).reshape(-1, 6)

    def _keys(self, rows: Rows, joints: Ints) -> list[MeasuredJoint]:
        generations = self._generations(rows)
        return [MeasuredJoint(*key) for key in zip(rows.tolist(), generations.tolist(), joints.tolist(), strict=True)]


class PhysicsEngine(BodyRegistry, Protocol):
    """One world of bodies beside the columns.

    Bodies come and go with the rows: an engine looks at the columns when it steps, and makes what is missing then. Rows
    that are `dynamic` are moved by it and read back; all others are where their columns say, and push.
    """

    name: str
    """As in the setting `engine`."""
    restores_nonfinite_poses: bool
    """Whether `step` leaves finite poses only; else they are looked at after it."""

    checkpoints: Any
    """Saves and restores what it has besides the columns, bit for bit: a `Participant` with `forms()`."""

    @property
    def reactions(self) -> JointSensing:
        """What measures in its joints."""

    def begin_step(self) -> None:
        """Begin a step of the simulation: what is kinematic sweeps from where it is now to where it is in `step`."""

    def step(self, dt: float) -> int:
        """Advance dynamic rows by `dt` seconds, in substeps, and read them back; return how many.

        Dynamic rows whose pose or velocity was written since the last step start from their columns.
        """

    def contact_pairs(self, limit: float = math.inf) -> Rows:
        """Return the pairs of rows (M, 2) in contact in the last step, at most `limit` m apart: sorted, each once."""

    def put_to_sleep(self, rows: Rows) -> None:
        """Stop dynamic `rows` that rest on each other, so that they cost nothing until something touches them."""

    def wake_up(self, rows: Rows) -> None:
        """Let sleeping `rows` move again."""

    def floor_id(self) -> int:
        """Return the number of the floor's body, -1 where it has none."""

    def reset(self) -> None:
        """Forget all bodies and contacts; what the columns hold is made again when it is needed."""
