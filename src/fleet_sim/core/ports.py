"""Interfaces of the layers above the core that entity handles need, so that the core does not import them.

These protocols are the only way to reach upwards. A simulation connects the parts to its world once, as `Parts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.config.modes import ActionCause
from fleet_sim.core.contacts import Contact


class ActionBook(Protocol):
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


class BodyBook(Protocol):
    """The PyBullet bodies of entities."""

    def body_id(self, row: int) -> int:
        """Return the PyBullet body of the entity, creating it if needed."""

    def tell_body(self, row: int) -> int:
        """As `body_id`, for users: PyBullet keeps up with that body from now on."""

    def row_of_body(self, body: int) -> int:
        """Return the row of PyBullet `body`, NO_ROW if it has none; missing bodies are created first."""

    def local_bounds(self, shape_id: int) -> tuple[Floats, Floats]:
        """Return centre (3,) and half extents (3,) of a shape in its body frame."""

    def pose_written(self, rows: Rows) -> None:
        """Handle poses of `rows` that were written outside a step."""

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


class ControllerBook(Protocol):
    """The controllers by name."""

    def plan(self, spec: Any) -> Any:
        """Return the checked ControllerPlan for the `controller` of a spawn entry."""


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

    actions: ActionBook | None = None
    bodies: BodyBook | None = None
    blocking: BlockingBook | None = None
    links: LinkBook | None = None
    sensors: SensorBook | None = None
    laws: LawBook | None = None
    controllers: ControllerBook | None = None
    features: FeatureBook | None = None
