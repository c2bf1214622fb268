"""Immutable snapshots of the fleet for readers outside the step: viewers, bridges, other threads."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.arrays import AnyArray, Bools, Floats, Ints
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.world import World


@dataclass(frozen=True)
class Snapshot:
    """The state of all living entities at the end of a step; arrays are read-only and aligned by index.

    Poses are in the world frame, in m and xyzw.
    """

    tick: int
    time: float
    names: tuple[str, ...]
    object_ids: Ints
    agent_mask: Bools
    positions: Floats
    orientations: Floats
    velocities: Floats
    angular_velocities: Floats


def take_snapshot(world: World) -> Snapshot:
    """Return the present state of `world`."""
    rows = world.rows

    def frozen(column: AnyArray) -> AnyArray:
        copy = column[rows]
        copy.flags.writeable = False
        return copy

    return Snapshot(
        tick=world.clock.tick,
        time=world.clock.time,
        names=tuple(world.label(row) for row in rows.tolist()),
        object_ids=frozen(world.object_id),
        agent_mask=frozen(world.kind == KIND_AGENT),
        positions=frozen(world.position),
        orientations=frozen(world.orientation),
        velocities=frozen(world.velocity),
        angular_velocities=frozen(world.angular_velocity),
    )


class SnapshotBoard:
    """Provides a new snapshot at the end of each step, while there are subscribers.

    `latest` may be read from any thread: it is replaced as a whole and never changed.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._readers = 0
        self._latest: Snapshot | None = None

    @property
    def latest(self) -> Snapshot | None:
        """The newest snapshot, None until the first step with a subscriber."""
        return self._latest

    def subscribe(self) -> None:
        """Request a snapshot in each step; call `unsubscribe` when it is no longer needed."""
        self._readers += 1

    def unsubscribe(self) -> None:
        """Undo one `subscribe`."""
        self._readers = max(0, self._readers - 1)

    def end_step(self, dt: float) -> None:
        """Replace the snapshot if there are subscribers."""
        if self._readers:
            self._latest = take_snapshot(self._world)
