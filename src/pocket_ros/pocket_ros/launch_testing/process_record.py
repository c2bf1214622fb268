"""What is recorded of processes while they run, safe between threads.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from ..launch.events.process.process_action import ProcessAction

Item = TypeVar("Item")


class ProcessRecord(Generic[Item]):
    """Events of processes, in order; subclasses say how they are kept and found."""

    def append(self, item: Item, /) -> None:
        """Take an event."""
        raise NotImplementedError(f"{type(self).__name__} keeps no events")

    def __iter__(self) -> Iterator[Item]:
        raise NotImplementedError(f"{type(self).__name__} keeps no events")

    def processes(self) -> list[ProcessAction]:
        """The actions of all processes something is known of."""
        raise NotImplementedError(f"{type(self).__name__} keeps no events")

    def process_names(self) -> list[str]:
        """The names of all processes known."""
        raise NotImplementedError(f"{type(self).__name__} keeps no events")

    def __getitem__(self, key: str | ProcessAction) -> Any:
        raise NotImplementedError(f"{type(self).__name__} keeps no events")


class ActiveRecord(ProcessRecord[Item]):
    """In front of a record: lets one thread add to it while others read, and wait for what comes."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = threading.Condition(threading.RLock())
        self._closed = False

    def close(self) -> None:
        """Say that nothing more will come: whoever waits is told at once."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def append(self, item: Item, /) -> None:
        with self._condition:
            super().append(item)
            self._condition.notify_all()

    def __iter__(self) -> Iterator[Item]:
        with self._condition:
            return super().__iter__()

    def processes(self) -> list[ProcessAction]:
        with self._condition:
            return super().processes()

    def process_names(self) -> list[str]:
        with self._condition:
            return super().process_names()

    def __getitem__(self, key: str | ProcessAction) -> Any:
        with self._condition:
            return super().__getitem__(key)
