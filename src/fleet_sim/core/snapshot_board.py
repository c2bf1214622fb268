"""SnapshotBoard: shares one snapshot at a time with all readers outside the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Condition

from fleet_sim.arrays import AnyArray, Ints
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.core.snapshot_taking import (
    EntityRoster,
    GivenColors,
    KnownPaths,
    snapshot_of,
    state_views,
    take_colors,
    take_features,
    take_roster,
)
from fleet_sim.core.world import World

BetweenSteps = Callable[[Callable[[], object]], object]


class Subscription:
    """One reader of snapshots, in any thread but the one that makes the steps; at the end of a `with` block it leaves.

    While somebody is subscribed, the step takes a snapshot at its end, one for all.
    """

    def __init__(self, board: SnapshotBoard) -> None:
        self._board = board
        self._seen: Snapshot | None = None

    @property
    def latest(self) -> Snapshot | None:
        """The newest snapshot; None before the first."""
        return self._board.latest

    def wait(self, timeout: float | None = None) -> Snapshot | None:
        """Return the newest snapshot that this call has not returned before, as soon as there is one.

        Snapshots that came and went meanwhile are left out. Returns None after `timeout` s of real time (None: no
        limit), and once the subscription has ended or the simulation was closed.
        """
        newer = self._board.newer_than(self._seen, self, timeout)
        self._seen = newer or self._seen
        return newer

    def __iter__(self) -> Iterator[Snapshot]:
        """Yield snapshots as they come, until the subscription ends or the simulation is closed."""
        while (snapshot := self.wait()) is not None:
            yield snapshot

    def close(self) -> None:
        """Read no more; may be called again. A `wait` in another thread returns."""
        self._board.unsubscribe(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class SnapshotBoard:
    """The newest snapshot of a simulation, `sim.snapshots`. Without a subscription, steps take none.

    Every method may be called from any thread, but for `take`, `look`, `refresh` and `end_step`, which read the world.
    `pairs()` returns the rows (M, 2) that collide, `between_steps(function)` has a function called while no step is
    under way.
    """

    def __init__(self, world: World, pairs: Callable[[], Ints], between_steps: BetweenSteps) -> None:
        self._world = world
        self._pairs = pairs
        self._between_steps = between_steps
        # Guards what follows; notified when there is a new snapshot, and when a reader leaves.
        self._changed = Condition()
        self._latest: Snapshot | None = None
        self._readers: tuple[Subscription, ...] = ()
        self._requested: Future[Snapshot] | None = None
        self._roster: EntityRoster | None = None
        self._colors: GivenColors | None = None
        self._names_version = -1
        self._look_version = -1

    @property
    def latest(self) -> Snapshot | None:
        """The newest snapshot; None before the first subscription. It is replaced as a whole and never changed."""
        return self._latest

    @property
    def has_readers(self) -> bool:
        """Whether each step takes a snapshot for somebody."""
        return bool(self._readers)

    def subscribe(self) -> Subscription:
        """Have each step take a snapshot, until the subscription is closed: `with sim.snapshots.subscribe() as ...`.

        The first snapshot comes at once, or after the step that is under way, also while the simulation is paused.
        """
        subscription = Subscription(self)
        with self._changed:
            first = not self._readers
            # Replaced and never changed, so that the step can look at it without the lock.
            self._readers = (*self._readers, subscription)
        # Without the lock held: `between_steps` takes that of the run, and no thread ever holds both.
        if first:
            self._between_steps(self.refresh)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription; one that has ended stays so."""
        with self._changed:
            self._readers = tuple(reader for reader in self._readers if reader is not subscription)
            self._changed.notify_all()

    def request(self) -> Future[Snapshot]:
        """Return the state after everything done to the world so far, for who wants to read once.

        It is taken when no step is under way; all who ask until then share one snapshot.
        """
        with self._changed:
            future, first = self._requested, self._requested is None
            if future is None:
                future = self._requested = Future()
                # Shared, so that none of those who wait can cancel it for the others.
                future.set_running_or_notify_cancel()
        if first:
            self._between_steps(self._answer)
        return future

    def newer_than(
        self, seen: Snapshot | None, subscription: Subscription, timeout: float | None = None
    ) -> Snapshot | None:
        """Wait for a snapshot other than `seen` while `subscription` lasts; returns None where none comes in time."""

        def settled() -> bool:
            return self._latest is not seen or subscription not in self._readers

        with self._changed:
            # It returns at the timeout too, so both conditions are asked once more.
            self._changed.wait_for(settled, timeout)
            return self._latest if self._latest is not seen and subscription in self._readers else None

    def close(self) -> None:
        """End all subscriptions."""
        with self._changed:
            self._readers = ()
            self._changed.notify_all()

    # ---- in the simulation's thread ----------------------------------------------------------------------------------

    def take(self) -> Snapshot:
        """Return a snapshot of this moment."""
        world, (views, roster, colors) = self._world, self.look()
        # Indexing may have copied already, but not always.
        state = {name: view.copy() for name, view in views.items()}
        features = take_features(world, roster)
        return snapshot_of(state, roster, colors, tick=self.tick, time=self.time, features=features)

    @property
    def tick(self) -> int:
        """The number of the step that a snapshot of this moment is of: one under way counts as made."""
        return self._world.clock.tick + self._world.in_step

    @property
    def time(self) -> float:
        """The simulation time in s at the end of that step."""
        return self._world.clock.seconds(self.tick)

    @property
    def compiled(self) -> bool:
        """Whether the simulation uses compiled code."""
        return self._world.compiled

    def look(self, known: KnownPaths | None = None) -> tuple[dict[str, AnyArray], EntityRoster, GivenColors]:
        """Return what a snapshot of this moment is made of; the arrays change with the world.

        With `known` paths it has those, unless something was spawned, removed or renamed since: finding them takes a
        while where there is traffic.
        EntityRoster and colors are the same objects as before while nothing of them has changed.
        """
        world = self._world
        if self._roster is None or self._names_version != world.version:
            # Names and bodies are the parts that take Python per entity, and they rarely change.
            self._roster, self._names_version, self._colors = take_roster(world), world.version, None
        if self._colors is None or self._look_version != world.look.version:
            self._colors, self._look_version = take_colors(world), world.look.version
        return state_views(world, self._roster, self._pairs(), known), self._roster, self._colors

    def refresh(self) -> None:
        """Replace the snapshot, if anybody reads it: the world has changed without a step."""
        if self._readers:
            # Before the lock is taken: readers do not wait while the columns are copied.
            snapshot = self.take()
            with self._changed:
                self._latest = snapshot
                self._changed.notify_all()

    def end_step(self, dt: float) -> None:
        """Replace the snapshot at the end of a step, if anybody reads it."""
        self.refresh()

    def _answer(self) -> None:
        """Take a snapshot for who asked for one; an exception goes to them, too."""
        with self._changed:
            # Reset before the snapshot is taken: who asks from now on gets a later one.
            future, self._requested = self._requested, None
        assert future is not None
        try:
            future.set_result(self.take())
        except Exception as error:
            future.set_exception(error)
