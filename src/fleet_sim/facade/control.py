"""Control of a run from any thread: pause, resume, stop, and calls between two steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, RLock, get_ident
from typing import Any

from fleet_sim.core.inbox import Inbox
from fleet_sim.core.world import World
from fleet_sim.errors import StateError

LONGEST_HELD = 1.0
"""Where the next step is further away than this, in s, commands do not wait for it."""


class RunControl:
    """The state of a run (running, paused, stopping), its thread, and the calls waiting for the end of a step.

    Every method may be called from any thread, except those of the run itself: `begin_run`, `run_tasks`, `rest` and
    `end_run`.
    """

    def __init__(self, world: World, inbox: Inbox) -> None:
        self._world = world
        self._inbox = inbox
        # Guards the thread and the tasks; notified whenever a sleeping run has to wake up.
        self._wake = Condition()
        self._tasks: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self.asking: Callable[[], int] = self._tasks.__len__
        """Returns how many calls wait for the end of a step, for who asks in every step."""
        self._thread: int | None = None
        self._paused = False
        self._stopping = False
        self.quiet = RLock()
        """Held while a step is made, and while a call from another thread is carried out between two."""
        inbox.on_put = self.wake

    # ---- from any thread ---------------------------------------------------------------------------------------------

    @property
    def is_paused(self) -> bool:
        """Whether the simulation is paused."""
        return self._paused

    @property
    def is_running(self) -> bool:
        """Whether a run is active, paused or not."""
        return self._thread is not None

    @property
    def is_stopping(self) -> bool:
        """Whether the active run was requested to stop."""
        return self._stopping

    @property
    def runs_elsewhere(self) -> bool:
        """Whether a thread other than the caller's makes the steps."""
        return self._thread not in (None, get_ident())

    def holds_back(self, what: str) -> bool:
        """Return whether no step is to be made now, as the simulation is paused.

        Raises StateError for `what`, which would make one, while another thread makes the steps.
        """
        # `runs_elsewhere`, without asking for the thread where nobody runs; asked for each step.
        if self._thread is not None and self.runs_elsewhere:
            raise StateError(f"{what}() was called while run_simulation() runs in another thread; see single_step()")
        return self._paused

    def require_between_steps(self, what: str) -> None:
        """Raise StateError if `what` was called inside a step, or while another thread makes the steps."""
        if self.runs_elsewhere:
            raise StateError(
                f"{what}() was called while run_simulation() runs in another thread; use sim.between_steps(...) for it"
            )
        if self._world.in_step:
            raise StateError(f"{what}() was called from inside a step; use sim.between_steps(...) for it")

    def pause(self) -> None:
        """Pause until `resume`. A step that has begun is finished."""
        if not self._paused:
            self._paused = True
            self._tell("paused")

    def resume(self) -> None:
        """Resume a paused run."""
        if self._paused:
            self._paused = False
            self._tell("resumed")

    def stop(self) -> None:
        """End the active run after its current step."""
        self._stopping = True
        self.wake()

    def between_steps(self, function: Callable[[], Any]) -> Future[Any]:
        """Call `function()` when no step is under way, in the thread that makes the steps.

        Without a run and outside a step it is called at once, here, and a step that another thread begins waits for it.
        The future holds what it returned or raised.
        """
        future: Future[Any] = Future()
        with self._wake:
            if self.runs_elsewhere or self._world.in_step:
                self._tasks.append((function, future))
                self._wake.notify_all()
                return future
        # Without that lock held: other threads need it to pause or to send commands meanwhile.
        with self.quiet:
            # Those that came at the very end of the last step, after it had looked for them.
            self.run_tasks()
            _carry_out(function, future)
        return future

    def wake(self) -> None:
        """Wake a sleeping run, so that it checks for something to do."""
        with self._wake:
            self._wake.notify_all()

    def wait_for_others(self) -> None:
        """Return once no other thread makes steps."""
        with self._wake:
            self._wake.wait_for(lambda: not self.runs_elsewhere)

    def _tell(self, event: str) -> None:
        """Emit `event` where no step can be under way in another thread, and wake the run."""
        if self.runs_elsewhere:
            self.between_steps(lambda: self._world.events.emit(event))
        else:
            self._world.events.emit(event)
            self.wake()

    # ---- the run itself ----------------------------------------------------------------------------------------------

    def begin_run(self) -> None:
        """Make the calling thread the one that makes steps; raises StateError if there is one already."""
        with self._wake:
            if self._thread is not None:
                raise StateError("run_simulation() is already running")
            self.require_between_steps("run_simulation")
            self._thread, self._stopping = get_ident(), False

    def run_tasks(self) -> None:
        """Run the calls that wait for the end of a step."""
        while self._tasks:
            _carry_out(*self._tasks.popleft())

    def rest(self, seconds: float | None, limit: float | None = None) -> None:
        """Sleep for `seconds` (None: until woken), at most for `limit`; other threads can wake it."""
        bounds = [bound for bound in (seconds, limit) if bound is not None]
        with self._wake:
            # Checked with the lock held: a wake-up between the check and the sleep would be lost.
            if self._stopping or self._tasks or self._inbox.is_due_between_steps:
                return
            if seconds is None and not self._paused:
                return
            if (seconds is None or seconds > LONGEST_HELD) and len(self._inbox):
                return
            self._wake.wait(min(bounds, default=None))

    def end_run(self) -> None:
        """Run the calls that other threads still wait for, then release the simulation."""
        while True:
            self.run_tasks()
            with self._wake:
                # The lock is held: no task can be added between this check and the release.
                if not self._tasks:
                    self._thread = None
                    self._wake.notify_all()
                    return


def _carry_out(function: Callable[[], Any], future: Future[Any]) -> None:
    """Run `function`; its result or its exception goes to whoever waits for `future`."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except Exception as error:
        # Exceptions are reported to the caller by the future.
        future.set_exception(error)
    else:
        future.set_result(result)
