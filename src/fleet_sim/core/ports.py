"""What the core knows of features above it: the calls an entity's handle needs, without importing the feature.

These protocols are the one way upwards. A simulation gives its world the features once, as `Parts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.config.modes import ActionCause


class ActionBook(Protocol):
    """The action queues of all agents."""

    def add(self, row: int, action: Any, goal: str = "") -> None:
        """Append `action` to the queue of the agent in `row`; `goal` is what `cancel_goal` knows it by."""

    def parse(self, action_type: str, params: Any) -> Any:
        """Return a new action from its name and parameters."""

    def check(self, action: Any) -> None:
        """Raise unless `action` can be added to a queue."""

    def cancel(self, row: int, reason: str, cause: ActionCause = ActionCause.PREEMPTED) -> bool:
        """End the running and all queued actions CANCELLED, saying why; returns whether there were any."""

    def cancel_base(self, row: int, reason: str) -> bool:
        """As `cancel`, but a running action that moves nothing but joints goes on."""

    def cancel_joints(self, row: int, places: Ints, reason: str) -> bool:
        """As `cancel`, where the running action moves some of the joints at `places` (K,); else nothing happens."""

    def cancel_goal(self, row: int, goal: str, reason: str) -> bool:
        """End, CANCELLED, the actions that were given with the name `goal`; returns whether there were any."""

    def describe(self, action: Any) -> dict[str, Any]:
        """Return `action` as its type and parameters, which `parse` makes it of."""

    def busy(self, rows: Rows) -> Rows:
        """Return those of `rows` with an action that runs or waits: for the others `cancel` does nothing."""

    def current(self, row: int) -> Any | None:
        """Return the running action, or None."""

    def queued(self, row: int) -> int:
        """Return how many actions are running or waiting."""


class BodyBook(Protocol):
    """The PyBullet bodies of entities."""

    def body_id(self, row: int) -> int:
        """Return the PyBullet body of the entity, made now if it has none yet."""

    def tell_body(self, row: int) -> int:
        """As `body_id`, for users: PyBullet keeps up with that body from now on."""

    def row_of_body(self, body: int) -> int:
        """Return the row of the entity that PyBullet `body` stands for, NO_ROW for none; all bodies are made first."""

    def local_bounds(self, shape_id: int) -> tuple[Floats, Floats]:
        """Return centre (3,) and half extents (3,) of a shape in its body frame."""

    def pose_written(self, rows: Rows) -> None:
        """Hear that poses of `rows` were written outside a step."""

    def push(self, row: int, force: Floats, position: Floats | None) -> None:
        """Push the entity with `force` (3,) in N, world frame, for the next step; at its centre of mass or a point."""

    def twist(self, row: int, torque: Floats) -> None:
        """Turn the entity with `torque` (3,) in Nm, world frame, for the next step."""

    def contacts(self, row: int) -> list[Any]:
        """Return the contacts of the entity in the last step, each with the rows and links that touch."""


class LinkBook(Protocol):
    """The links of robots."""

    def link_poses(self, rows: Rows, links: Ints) -> tuple[Floats, Floats]:
        """Return the world poses (N, 3), (N, 4) of one link per row; -1 is the base."""

    def link_velocities(self, rows: Rows, links: Ints, points: Floats) -> tuple[Floats, Floats]:
        """Return linear velocities (N, 3) of world `points` fixed to one link per row, and angular ones (N, 3)."""

    def refresh_boxes(self) -> Rows:
        """Bring the boxes of robots whose joints moved up to date; returns their rows."""


class SensorBook(Protocol):
    """The sensors of all entities."""

    def plan(self, specs: Any) -> Sequence[Any]:
        """Return what a list of specs asks for, checked."""

    def mount(self, rows: Rows, plans: Sequence[Any]) -> None:
        """Give each of `rows` sensors as planned."""

    def place(self, specs: Any, *, source: str = "") -> list[Any]:
        """Fix sensors in the world, as a list of specs asks for, and return them."""

    def of(self, row: int) -> list[Any]:
        """Return the sensors of the entity."""

    def named(self, row: int, name: str) -> Any:
        """Return one of them."""


class LawBook(Protocol):
    """The motion laws by name."""

    def names(self) -> Sequence[str]:
        """Return the names by the laws' indices in `world.motion.law`; 0 is for what cannot move."""

    def index(self, name: str) -> int:
        """Return the index of a law, loading it where it is another package's; raises UnknownNameError."""


class ControllerBook(Protocol):
    """The controllers by name."""

    def plan(self, spec: Any) -> Any:
        """Return the ControllerPlan that a spawn entry's `controller` asks for, checked."""


class FeatureBook(Protocol):
    """The features that entities have besides a body."""

    def use(self, name: str) -> Any:
        """Begin to use a feature, if the simulation does not yet; returns what the feature is in it."""

    def handle(self, name: str, entity: Any) -> Any:
        """Return the feature of one entity."""


@dataclass(frozen=True)
class Parts:
    """What entities reach through their world: the systems above it, each as one of the protocols here.

    A simulation connects all of them. A world that lacks one works as far as nobody asks for it.
    """

    actions: ActionBook | None = None
    bodies: BodyBook | None = None
    links: LinkBook | None = None
    sensors: SensorBook | None = None
    laws: LawBook | None = None
    controllers: ControllerBook | None = None
    features: FeatureBook | None = None
