"""Executors: they wait until something is ready and run its callback.

The wait set is built as nodes and endpoints come and go, not at each wait, so a wait costs what is ready, not
what
exists.
"""

from __future__ import annotations

import inspect
import itertools
import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from .context import Context, get_default_context, timeout_sec_to_nsec
from .entity import CallbackGroup, Entity, WithBlock
from .exceptions import InvalidHandle, RCLError
from .logging import RcutilsLogger, get_logger
from .task import Future, Task
from .timer import Timer, TimerSchedule
from .waitable import WaitableEntity, WaitableRound

if TYPE_CHECKING:
    from ..dds.participant import Guard, WaitSet

__all__ = [
    "ConditionReachedException",
    "Executor",
    "ExternalShutdownException",
    "Future",
    "InvalidHandle",
    "MultiThreadedExecutor",
    "ShutdownException",
    "SingleThreadedExecutor",
    "Task",
    "TimeoutException",
    "TimeoutObject",
    "WaitableEntityType",
    "await_or_execute",
]


# How waits of executors end other than with work.


class ExternalShutdownException(Exception):
    """Raised by spin functions when the context was shut down while they waited."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)


class TimeoutException(Exception):
    """Raised when nothing was ready in time."""


class ShutdownException(Exception):
    """Raised when the executor was shut down while it waited."""


class ConditionReachedException(Exception):
    """Raised when what was waited for has happened."""


class TimeoutObject:
    """A timeout that can be changed while it is waited for."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout


# What an executor asks of a node, and programs of the nodes of an executor.


_Executor = TypeVar("_Executor")


class ExecutableNode(Protocol[_Executor]):
    """`Node` as executors know it: a node names its executor, so it is above it."""

    @property
    def executor(self) -> _Executor | None: ...

    @executor.setter
    def executor(self, new_executor: _Executor | None) -> None: ...

    def get_name(self) -> str: ...

    def get_namespace(self) -> str: ...

    def get_fully_qualified_name(self) -> str: ...

    def get_logger(self) -> RcutilsLogger: ...

    def _ros_entities(self) -> Iterable[Entity]: ...

    def _ros_leave_executor(self, executor: _Executor) -> None: ...


# What an executor waits on, kept up to date as entities come and go.


_GUARD_KEY = 0
_turn = attrgetter("turn")


class ExecutorWaiting:
    """The part of Executor that waits: entities by key, the DDS wait set, the timers, and what is ready."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.RLock()
        self._entities: dict[int, Entity] = {}
        self._keys = itertools.count(_GUARD_KEY + 1)
        self._ready: deque[Entity] = deque()
        self._blocked: dict[CallbackGroup, dict[Entity, None]] = {}
        """By group those that are not waited on, since it can execute none of them now."""
        self._timers = TimerSchedule()
        self._waitables: list[WaitableEntity] = []
        self._wait_set: WaitSet | None = None
        self._guard: Guard | None = None

    def wake(self) -> None:
        """End the current wait. Safe from any thread."""
        with self._lock:
            guard = self._guard
        if guard is not None:
            guard.trigger()

    def attach(self, entity: Entity) -> None:
        """Wait on an entity of a node here."""
        with self._lock:
            if entity.executor_key and self._entities.get(entity.executor_key) is entity:
                return
            entity.executor_key = next(self._keys)
            self._entities[entity.executor_key] = entity
            if isinstance(entity, Timer):
                entity.on_schedule = self._schedule_timer
                self._schedule_timer(entity)
            elif isinstance(entity, WaitableEntity):
                self._waitables.append(entity)
            elif (group := entity.callback_group) is not None and not group.can_execute(entity):
                self._blocked.setdefault(group, {})[entity] = None
            elif self._wait_set is not None:
                self._wait_on(entity)

    def detach(self, entity: Entity) -> None:
        """No longer wait on it."""
        with self._lock:
            if self._entities.pop(entity.executor_key, None) is not entity:
                return
            entity.executor_key = 0
            if isinstance(entity, Timer):
                entity.on_schedule = None
            elif self._wait_set is not None:
                for condition in entity.conditions():
                    self._wait_set.detach(condition)
            if isinstance(entity, WaitableEntity):
                self._waitables.remove(entity)
            group = entity.callback_group
            if group in self._blocked:
                self._blocked[group].pop(entity, None)

    def _wait_on(self, entity: Entity) -> None:
        assert self._wait_set is not None
        for condition in entity.conditions():
            self._wait_set.attach(condition, entity.executor_key)

    def _ensure_wait_set(self) -> WaitSet:
        if self._wait_set is None:
            from ..dds.participant import Guard, WaitSet

            with self._lock:
                participant = self._context.participant
                wait_set, self._guard = WaitSet(), Guard(participant)
                wait_set.attach(self._guard.handle, _GUARD_KEY)
                self._wait_set = wait_set
                blocked = {entity for entities in self._blocked.values() for entity in entities}
                for entity in self._entities.values():
                    if not isinstance(entity, Timer) and entity not in blocked:
                        self._wait_on(entity)
        return self._wait_set

    def _close_wait_set(self) -> None:
        if self._wait_set is not None and self._guard is not None:
            self._wait_set.close()
            self._guard.close()
            self._wait_set = self._guard = None

    def _schedule_timer(self, timer: Timer) -> None:
        """The timer's next call changed."""
        if timer.clock.is_simulated:
            if timer.is_ready():
                self._ready.append(timer)
                self.wake()
        elif self._timers.add(timer):
            self.wake()

    def _wait_for(self, wait_set: WaitSet, timeout_ns: int) -> None:
        if not self._waitables:
            self._collect(wait_set.wait(timeout_ns))
            return
        waiting = WaitableRound(list(self._waitables), wait_set)
        waiting.watch(self.wake)
        self._collect(wait_set.wait(waiting.limit(timeout_ns)))
        self._ready.extend(waiting.ready())

    def _collect(self, keys: list[int]) -> None:
        found: list[Entity] = []
        for key in keys:
            if key == _GUARD_KEY:
                if self._guard is not None:
                    self._guard.reset()
                continue
            entity = self._entities.get(key)
            if entity is not None:
                found.append(entity)
        if len(found) > 1:
            found.sort(key=_turn)
        self._ready.extend(found)

    def _look_again(self) -> None:
        """Add what has become ready meanwhile, each in its turn among what was."""
        assert self._wait_set is not None
        self._wait_for(self._wait_set, 0)
        # One by one: other threads may add to it at the same time, and nothing of theirs must be lost.
        waiting = []
        while self._ready:
            waiting.append(self._ready.popleft())
        self._ready.extend(sorted(waiting, key=_turn))


# What all executors have in common: nodes, tasks, and waiting for work.


_logger = get_logger("rclpy.executors")
# The main thread runs Python's signal handlers only between waits.
_MAIN_THREAD_WAIT_NS = 100_000_000


class Job(NamedTuple):
    """Something to run, and whose callback it is."""

    run: Callable[[], None]
    entity: Entity | None


_Node = ExecutableNode["Executor"]


class Executor(ExecutorWaiting, WithBlock):
    """What all executors share: nodes, tasks, waiting. Use it in a `with` block, or call `shutdown`."""

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(get_default_context() if context is None else context)
        self._nodes: set[_Node] = set()
        self._tasks: deque[Task[Any]] = deque()
        self._task_turns = 0
        self._ran_task = False
        self._unfinished: set[Task[Any]] = set()
        self._is_shutdown = False
        self._running = 0
        self._idle = threading.Condition()
        self._context.on_shutdown(self.wake)

    @property
    def context(self) -> Context:
        return self._context

    def create_task(self, callback: Any, *args: Any, **kwargs: Any) -> Task[Any]:
        """Have a function or coroutine run by this executor."""
        task: Task[Any] = Task(callback, args, kwargs, executor=self)
        self._schedule_task(task)
        return task

    def add_node(self, node: _Node) -> bool:
        """Run this node's callbacks; False where that is so already."""
        with self._lock:
            if node in self._nodes:
                return False
            self._nodes.add(node)
            node.executor = self
            for entity in node._ros_entities():
                entity.node = node
                self.attach(entity)
        self.wake()
        return True

    def remove_node(self, node: _Node) -> None:
        """No longer run this node's callbacks."""
        with self._lock:
            if node not in self._nodes:
                return
            self._nodes.discard(node)
            for entity in node._ros_entities():
                self.detach(entity)
            node._ros_leave_executor(self)
        self.wake()

    def get_nodes(self) -> list[_Node]:
        """The nodes whose callbacks run here."""
        with self._lock:
            return list(self._nodes)

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Stop, waiting for running callbacks; False where they take longer than `timeout_sec`."""
        with self._lock:
            self._is_shutdown = True
        self.wake()
        with self._idle:
            if not self._idle.wait_for(lambda: self._running == 0, timeout_sec):
                return False
        with self._lock:
            # First, or each of thousands of entities would be taken out of it by a call of its own.
            self._close_wait_set()
            for node in list(self._nodes):
                self.remove_node(node)
            for task in list(self._unfinished):
                task.cancel()
            self._unfinished.clear()
            self._tasks.clear()
        return True

    def spin(self) -> None:
        """Run callbacks until shutdown. Raises ExternalShutdownException when the context was shut down."""
        while self._context.ok() and not self._is_shutdown:
            self.spin_once()

    def spin_until_future_complete(self, future: Future[Any], timeout_sec: float | None = None) -> None:
        """Run callbacks until the future is done, the timeout has passed, or shutdown."""
        future.add_done_callback(lambda _: self.wake())
        timeout = timeout_sec_to_nsec(timeout_sec)
        deadline = time.monotonic_ns() + timeout
        while self._context.ok() and not future.done() and not self._is_shutdown:
            left = None if timeout < 0 else (deadline - time.monotonic_ns()) / 1e9
            if left is not None and left < 0 < timeout:
                return
            self._spin_once(None if left is None else max(left, 0.0), future.done)
            if timeout == 0:
                return

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Run one callback, waiting up to `timeout_sec` for it."""
        self._spin_once(timeout_sec, None)

    def spin_once_until_future_complete(self, future: Future[Any], timeout_sec: float | None = None) -> None:
        """Run one callback, unless the future is done first."""

        def wake(_: Future[Any]) -> None:
            self.wake()

        future.add_done_callback(wake)
        try:
            self._spin_once(timeout_sec, future.done)
        finally:
            future.remove_done_callback(wake)

    def _spin_once(self, timeout_sec: float | None, done: Callable[[], bool] | None) -> None:
        raise NotImplementedError("an executor defines how it runs what is ready")

    def wait_for_ready_callbacks(
        self,
        timeout_sec: float | None = None,
        nodes: list[_Node] | None = None,
        condition: Callable[[], bool] | None = None,
    ) -> tuple[Callable[[], None], Entity | None, _Node | None]:
        """A callback that is ready, as something to call, with its entity and node: for own executors.

        Raises TimeoutException, ShutdownException, ExternalShutdownException, ConditionReachedException.
        """
        if nodes is not None:
            raise NotImplementedError(
                "Executor.wait_for_ready_callbacks(nodes=...) is not covered; a full ROS 2 has it"
            )
        job = self._next(timeout_sec_to_nsec(timeout_sec), condition)
        if job is None:
            raise TimeoutException()
        node = None if job.entity is None else job.entity.node
        return job.run, job.entity, node

    def can_execute(self, entity: Entity) -> bool:
        """Whether the entity's callback group lets it run now."""
        group = entity.callback_group
        return group is None or group.can_execute(entity)

    def _end_block(self) -> None:
        self.shutdown()

    def _schedule_task(self, task: Task[Any]) -> None:
        task._resume = self._resume_task
        self._unfinished.add(task)
        self._resume_task(task)

    def _resume_task(self, task: Task[Any]) -> None:
        self._tasks.append(task)
        self.wake()

    def _next(self, timeout_ns: int, done: Callable[[], bool] | None = None) -> Job | None:
        """Something to run, or None when nothing was ready in time.

        Raises ShutdownException, ExternalShutdownException, ConditionReachedException.
        """
        wait_set = self._wait_set or self._ensure_wait_set()
        deadline = None
        while True:
            if not self._context.ok():
                raise ExternalShutdownException()
            if self._is_shutdown:
                raise ShutdownException()
            if done is not None and done():
                raise ConditionReachedException()
            job = self._next_ready()
            if job is not None:
                return job
            due, until_timer = self._timers.due()
            self._ready.extend(due)
            if due:
                # Timers that are always due, for their callbacks take longer than their period, must keep
                # neither messages nor tasks waiting.
                self._wait_for(wait_set, 0)
                self._task_turns = len(self._tasks)
                continue
            if deadline is not None or timeout_ns >= 0:
                now = time.monotonic_ns()
                if deadline is None:
                    deadline = now + timeout_ns
                elif now >= deadline:
                    return None
                until_timer = min(until_timer, max(deadline - now, 0))
            if threading.current_thread() is threading.main_thread():
                until_timer = min(until_timer, _MAIN_THREAD_WAIT_NS)
            self._wait_for(wait_set, 0 if self._tasks else until_timer)
            # A task that always asks for another turn must not keep messages waiting.
            self._task_turns = len(self._tasks)

    def _next_ready(self) -> Job | None:
        while self._tasks and self._task_turns > 0:
            self._task_turns -= 1
            task = self._tasks.popleft()
            if not task.done():
                self._ran_task = True
                return Job(lambda task=task: self._run_task(task), task.entity)  # type: ignore[misc]
        if self._ran_task and self._ready:
            # What the task has sent to this program comes in its turn, not behind what was ready before.
            self._ran_task = False
            self._look_again()
        while self._ready:
            entity = self._ready.popleft()
            if entity.executor_key not in self._entities:
                continue
            group = entity.callback_group
            if group is not None and not group.beginning_execution(entity):
                self._block(entity, group)
                continue
            try:
                work = entity.take()
            except RCLError as error:
                # What a faulty peer sends must not stop this program.
                _logger.error(str(error), throttle_duration_sec=1.0)
                work = None
            except BaseException:
                self._ended(entity)
                raise
            if isinstance(entity, Timer):
                self._schedule_timer(entity)
            if entity.backlog:
                self._ready.append(entity)
            if work is not None:
                return Job(lambda entity=entity, work=work: self._run(entity, work), entity)  # type: ignore[misc]
            self._ended(entity)
        return None

    def _run(self, entity: Entity, work: Any) -> None:
        try:
            result = entity.run(work)
        except BaseException:
            self._ended(entity)
            raise
        if result is not None and inspect.iscoroutine(result):
            task: Task[Any] = Task(result, executor=self)
            task._resume = self._resume_task
            self._unfinished.add(task)
            task.entity = entity
            self._run_task(task)
        else:
            self._ended(entity)

    def _run_task(self, task: Task[Any]) -> None:
        task()
        if task.done():
            self._unfinished.discard(task)
            if task.entity is not None:
                self._ended(task.entity)
            task.result()  # an exception ends the spin

    def _block(self, entity: Entity, group: CallbackGroup) -> None:
        """Its callback group is busy: do not wait on it until the group is free."""
        with self._lock:
            blocked = self._blocked.setdefault(group, {})
            if self._wait_set is not None and entity not in blocked:
                for condition in entity.conditions():
                    self._wait_set.detach(condition)
                blocked[entity] = None
        if group.can_execute(entity):
            self._unblock()

    def _ended(self, entity: Entity) -> None:
        if entity.callback_group is not None:
            entity.callback_group.ending_execution(entity)
        if self._blocked:
            self._unblock()

    def _unblock(self) -> None:
        with self._lock:
            free = [
                group
                for group, blocked in self._blocked.items()
                if group.can_execute(next(iter(blocked), None))
            ]
            for entity in [entity for group in free for entity in self._blocked.pop(group)]:
                if entity.executor_key in self._entities:
                    if not isinstance(entity, Timer) and self._wait_set is not None:
                        self._wait_on(entity)
                    self._ready.append(entity)
        if free:
            self.wake()


async def await_or_execute(callback: Callable[..., Any], *args: Any) -> Any:
    """Call a function, or call a coroutine function and wait for what it answers."""
    result = callback(*args)
    return await result if inspect.isawaitable(result) else result


WaitableEntityType = TypeVar("WaitableEntityType")


class SingleThreadedExecutor(Executor):
    """Runs callbacks in the thread that spins."""

    def _spin_once(self, timeout_sec: float | None, done: Callable[[], bool] | None) -> None:
        try:
            job = self._next(timeout_sec_to_nsec(timeout_sec), done)
        except (ShutdownException, ConditionReachedException):
            return
        if job is None:
            return
        with self._idle:
            self._running += 1
        try:
            job.run()
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()


class MultiThreadedExecutor(Executor):
    """Runs callbacks in a pool of threads; callback groups say which may run at the same time."""

    def __init__(self, num_threads: int | None = None, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        if num_threads is None:
            # The processors this process may use, which in a container are often fewer than there are.
            num_threads = len(os.sched_getaffinity(0))
        elif num_threads == 1:
            warnings.warn(
                "MultiThreadedExecutor is used with a single thread. Use the SingleThreadedExecutor instead.",
                stacklevel=2,
            )
        self._executor = ThreadPoolExecutor(num_threads, thread_name_prefix="executor")
        self._errors: deque[BaseException] = deque()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        success = super().shutdown(timeout_sec)
        self._executor.shutdown(wait=success)
        return success

    def _spin_once(self, timeout_sec: float | None, done: Callable[[], bool] | None) -> None:
        try:
            job = self._next(
                timeout_sec_to_nsec(timeout_sec), lambda: bool(self._errors) or bool(done and done())
            )
        except ExternalShutdownException:
            job = None
        except (ShutdownException, ConditionReachedException):
            job = None
        if job is not None:
            with self._idle:
                self._running += 1
            self._executor.submit(self._run_in_pool, job.run)
        if self._errors:
            raise self._errors.popleft()

    def _run_in_pool(self, job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:  # handed to the thread that spins, which raises it
            self._errors.append(error)
            self.wake()
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()
