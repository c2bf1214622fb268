"""The executor that runs a node."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .entity import Entity
from .node_endpoints import NodeEndpoints

if TYPE_CHECKING:
    from .executors import Executor


class NodeExecution(NodeEndpoints):
    """Tells the executor of a node what to wait on; a part of Node."""

    def _ros_init_execution(self) -> None:
        self._ros_executor_ref: Callable[[], Executor | None] = lambda: None
        self._ros_is_run = False

    def _ros_entities(self) -> Iterator[Entity]:
        raise NotImplementedError("Node defines what an executor waits on")

    @property
    def executor(self) -> Executor | None:
        """The executor that runs this node's callbacks, or between two `spin_once` ran them last."""
        return self._ros_executor_ref()

    @executor.setter
    def executor(self, new_executor: Executor | None) -> None:
        current = self._ros_running_executor()
        if current is not None and current is new_executor:
            return
        if current is not None:
            current.remove_node(self)
        if new_executor is None:
            self._ros_executor_ref = lambda: None
        else:
            self._ros_executor_ref = weakref.ref(new_executor)
            self._ros_is_run = True
            new_executor.add_node(self)

    def _ros_added(self, *entities: Entity) -> None:
        executor = self._ros_running_executor()
        if executor is not None and entities:
            for entity in entities:
                entity.node = self
                executor.attach(entity)
            executor.wake()

    def _ros_removed(self, *entities: Entity) -> None:
        executor = self._ros_running_executor()
        if executor is not None:
            for entity in entities:
                executor.detach(entity)

    def _ros_leave_executor(self, executor: Executor) -> None:
        if self.executor is executor:
            self._ros_is_run = False

    def _ros_running_executor(self) -> Executor | None:
        return self.executor if self._ros_is_run else None
