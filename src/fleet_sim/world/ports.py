"""The seams of the world: what handles need of the rooms above, and what a simulation asks of an engine of physics.

These protocols are the only way to reach upwards. A simulation connects the parts to its world once, as `Parts`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import StateError
from fleet_sim.base.params import ActionCause

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


class BlockingBook(Protocol):
    """Stops robots before obstacles."""

    def bodies_at(
        self, rows: Rows, positions: Floats, orientations: Floats, aligned_mask: Bools, slack: Floats
    ) -> Rows:
        """Return the static body (N,) that each of `rows`, with its base at a pose, is inside of; NO_ROW for none.

        Depths up to `slack` (N,) in m do not count.
        Outside of `aligned_mask` (N,) any heading counts: what is free at some heading is free.
        """


class LinkBook(Protocol):
    """The links of robots."""

    def link_poses(self, rows: Rows, links: Ints) -> tuple[Floats, Floats]:
        """Return the world poses (N, 3), (N, 4) of one link per row; -1 is the base."""

    def link_velocities(self, rows: Rows, links: Ints, points: Floats) -> tuple[Floats, Floats]:
        """Return linear velocities (N, 3) of world `points` fixed to one link per row, and angular ones (N, 3)."""

    def body_frames(self, rows: Rows) -> tuple[Floats, Ints]:
        """Return frames (3, 4, B + 1, R) of bodies of robots of one model, and the column (N,) of each of `rows`."""

    def refresh_boxes(self) -> Rows:
        """Update the boxes of robots whose joints moved; return their rows."""


class SensorBook(Protocol):
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


class LawBook(Protocol):
    """The motion laws by name."""

    def names(self) -> Sequence[str]:
        """Return the names in order of the laws' indices in `world.motion.law`; index 0 means "cannot move"."""

    def index(self, name: str) -> int:
        """Return the index of a law, loading it if it is from another package; raises UnknownNameError."""

    def feature(self, index: int) -> str | None:
        """Return the feature that robots with the law of this index need, or None."""


class FeatureBook(Protocol):
    """The features that entities have besides a body."""

    def use(self, name: str) -> Any:
        """Start to use a feature, unless it is in use; return the result of its `start`."""

    def give(self, name: str, rows: Rows, settings: Any = None) -> None:
        """Give living entities a feature; raises what it refuses them with."""

    def enter(self, names: Sequence[str], rows: Rows) -> None:
        """Let features take in entities that were spawned with them; raises what a feature refuses them with."""

    def handle(self, name: str, entity: Any) -> Any:
        """Return the feature of one entity."""


@dataclass(frozen=True)
class Parts:
    """The systems above the world that entities use, each as one of the protocols here.

    A simulation connects all of them. A world without one works until it is used.
    """

    actions: ActionQueues | None = None
    bodies: BodyRegistry | None = None
    blocking: BlockingBook | None = None
    links: LinkBook | None = None
    sensors: SensorBook | None = None
    laws: LawBook | None = None
    plan_controller: Callable[[Any], Any] | None = None
    """Returns the checked ControllerPlan for the `controller` of a spawn entry."""
    features: FeatureBook | None = None


# The systems above a world, as its attributes: how handles, which know a world and a row only, reach them.


Part = TypeVar("Part")
_NO_PARTS = Parts()


class _Connected(Generic[Part]):
    """A part as an attribute of a world: the one it was connected to under that name."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __set_name__(self, owner: type[ConnectedParts], name: str) -> None:
        self._name = name

    def __get__(self, world: ConnectedParts, owner: type[ConnectedParts]) -> Part:
        part: Part | None = getattr(world.parts, self._name)
        if part is None:
            raise StateError(f"this world has no {self._what}; use MultiRobotSimulationCore")
        return part


class ConnectedParts:
    """A world with parts. One of its own has none: asking for a part by its name then raises StateError."""

    actions = _Connected[ActionQueues]("action system")
    """The action queues."""
    bodies = _Connected[BodyRegistry]("PyBullet view")
    """The PyBullet bodies."""
    blocking = _Connected[BlockingBook]("blocking")
    """What stops robots before obstacles."""
    links = _Connected[LinkBook]("kinematics")
    """The links of robots."""
    sensors = _Connected[SensorBook]("sensor system")
    """The sensors."""
    laws = _Connected[LawBook]("motion laws")
    """The motion laws."""
    plan_controller = _Connected[Callable[[Any], Any]]("registry of controllers")
    """Returns the checked ControllerPlan for the `controller` of a spawn entry."""
    features = _Connected[FeatureBook]("features")
    """The features in use."""

    parts: Parts = _NO_PARTS
    """What `connect` was given; ask for one by its own name instead, which raises where it is missing."""

    def connect(self, parts: Parts) -> None:
        """Connect the systems above the world, for use by handles; once, by the builder. Raises StateError."""
        if self.parts is not _NO_PARTS:
            raise StateError("this world is already connected to its parts; a part cannot be replaced")
        self.parts = parts


# PhysicsEngine: what a simulation asks of the engine that moves its dynamic bodies, whichever that is.


class JointSensing(Protocol):
    """Measures what acts in joints: for a checkpoint, the measurements of the last step."""

    def want(self, rows: Rows, joints: Ints) -> None:
        """Measure `joints` (N,) of `rows` (N,) from the next step on."""

    def wrenches(self, rows: Rows, joints: Ints) -> Floats:
        """Return the wrenches (N, 6) in the last step, in the link frames; NaN where there was none."""

    def save(self) -> Any:
        """Return the last wrenches."""

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""


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
