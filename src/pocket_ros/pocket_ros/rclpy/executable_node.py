"""What an executor asks of a node, and programs of the nodes of an executor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from .entity import Entity
from .impl.rcutils_logger import RcutilsLogger

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
