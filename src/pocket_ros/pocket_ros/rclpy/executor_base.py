"""What all executors have in common: nodes, tasks, and waiting for work."""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from .context import Context
from .entity import Entity
from .exceptions import RCLError
from .executable_node import ExecutableNode
from .executor_exceptions import (
    ConditionReachedException,
    ExternalShutdownException,
    ShutdownException,
    TimeoutException,
)
from .executor_waiting import ExecutorWaiting
from .logging import get_logger
from .task import Future, Task
from .timer import Timer
from .utilities import get_default_context, timeout_sec_to_nsec
from .with_block import WithBlock

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
                self._block(entity)
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

    def _block(self, entity: Entity) -> None:
        """Its callback group is busy: do not wait on it until the group is free."""
        with self._lock:
            if self._wait_set is not None and entity not in self._blocked:
                for condition in entity.conditions():
                    self._wait_set.detach(condition)
                self._blocked.append(entity)
        if entity.callback_group is None or entity.callback_group.can_execute(entity):
            self._unblock()

    def _ended(self, entity: Entity) -> None:
        if entity.callback_group is not None:
            entity.callback_group.ending_execution(entity)
        if self._blocked:
            self._unblock()

    def _unblock(self) -> None:
        with self._lock:
            blocked, self._blocked = self._blocked, []
            for entity in blocked:
                if entity.executor_key in self._entities:
                    if not isinstance(entity, Timer) and self._wait_set is not None:
                        self._wait_on(entity)
                    self._ready.append(entity)
        self.wake()
