"""PhysicsEngine: what a simulation asks of the engine that moves its dynamic bodies, whichever that is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.core.contacts import Contact
from fleet_sim.core.saving.forms import Form


class EngineCheckpoints(Protocol):
    """Saves and restores what an engine has besides the columns, so that a run goes on bit for bit."""

    def save(self) -> Any:
        """Return the engine's state; None if it moves nothing, as the columns then hold the whole state."""

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned; the columns must be restored already."""

    def forms(self) -> Iterable[Form[Any]]:
        """Yield how the engine's state is written in state files."""

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError for what is no state of this engine."""


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


class PhysicsEngine(Protocol):
    """One world of bodies beside the columns.

    Bodies come and go with the rows: an engine looks at the columns when it steps, and makes what is missing then. Rows
    that are `dynamic` are moved by it and read back; all others are where their columns say, and push.
    """

    name: str
    """As in the setting `engine`."""
    mends_itself: bool
    """Whether `step` leaves finite poses only; else they are looked at after it."""

    @property
    def checkpoints(self) -> EngineCheckpoints:
        """What saves and restores it."""

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

    def contacts(self, row: int) -> list[Contact]:
        """Return the contacts of the entity in the last step, in the engine's order."""

    def push(self, row: int, force: Floats, position: Floats | None) -> None:
        """Push the entity with `force` (3,) in N, world frame, for the next step; at its centre of mass or a point."""

    def twist(self, row: int, torque: Floats) -> None:
        """Turn the entity with `torque` (3,) in Nm, world frame, for the next step."""

    def put_to_sleep(self, rows: Rows) -> None:
        """Stop dynamic `rows` that rest on each other, so that they cost nothing until something touches them."""

    def wake_up(self, rows: Rows) -> None:
        """Let sleeping `rows` move again."""

    def body_id(self, row: int) -> int:
        """Return the number that users know the body of the entity by."""

    def tell_body(self, row: int) -> int:
        """As `body_id`, for users, who may use it with the engine's own functions later."""

    def row_of_body(self, body: int) -> int:
        """Return the row of the entity with a number of `body_id`, NO_ROW for none."""

    def other_body(self, body: int) -> str:
        """Return what a number is that stands for no entity, such as the floor's; "" where it is nothing."""

    def floor_id(self) -> int:
        """Return the number of the floor's body, -1 where it has none."""

    def pose_written(self, rows: Rows) -> None:
        """Handle poses of `rows` that were written outside a step."""

    def reset(self) -> None:
        """Forget all bodies and contacts; what the columns hold is made again when it is needed."""
