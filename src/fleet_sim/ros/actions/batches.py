"""Action servers that handle all waiting requests in one turn of the executor, and publish the statuses once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.action import ActionServer

MOST = 256
"""Requests of one turn, so that other services are served between those of a client that never stops."""
REQUESTS = ("goal", "cancel", "result")
"""The parts of what is taken in which there is a request."""


class BatchingActionServer(ActionServer):
    """Takes requests in batches, and handles them in the order of their arrival.

    rclpy's executor takes one request a turn, and each turn builds the set of everything that it waits for; and at each
    change of a goal, rclpy publishes the statuses of all goals. Of a thousand goals sent at once the last waited for
    seconds. pocket_ros waits on a set that lasts, keeps its statuses as bytes, and calls nothing of this.
    """

    def __init__(self, node: Any, *arguments: Any, **options: Any) -> None:
        self._node_of_tasks = node
        self._later: StatusesLater | None = None
        self._statuses: StatusesLater | None = None
        super().__init__(node, *arguments, **options)

    def take_data(self) -> deque[dict[str, Any]]:
        """Return what is waiting, at most `MOST` requests of a kind; called where something is ready."""
        taken: deque[dict[str, Any]] = deque()
        try:
            while len(taken) < MOST:
                data = super().take_data()
                more = any(request in data for request in REQUESTS)
                # The first may be a goal that has expired, without any request.
                if more or not taken:
                    taken.append(data)
                if not more:
                    break
        except BaseException:
            # A request that cannot be decoded must not cost those that came before it.
            self._put_off(taken)
            raise
        return taken

    async def execute(self, taken_data: deque[dict[str, Any]]) -> None:
        """Handle what was taken. Where handling one raises, the rest is handled in the next turn."""
        try:
            while taken_data:
                await super().execute(taken_data.popleft())
        finally:
            self._put_off(taken_data)

    def _put_off(self, taken: deque[dict[str, Any]]) -> None:
        if taken:
            self._node_of_tasks.executor.create_task(self.execute, taken)

    # ---- statuses ----------------------------------------------------------------------------------------------------

    @property
    def _handle(self) -> Any:
        """The server of the C library, by the name under which rclpy's goals ask for it to publish the statuses."""
        return self._own_handle if self._later is None else self._later

    @_handle.setter
    def _handle(self, handle: Any) -> None:
        self._own_handle = handle
        self._statuses = StatusesLater(handle, self._node_of_tasks)

    @contextmanager
    def changing_state(self) -> Iterator[None]:
        """While the state of a goal changes: the statuses are published in the next turn, once for all changes."""
        self._later = self._statuses
        try:
            yield
        finally:
            self._later = None

    def destroy(self) -> None:
        """End the server; statuses that were to be published are not."""
        if self._statuses is not None:
            self._statuses.close()
        super().destroy()


class StatusesLater:
    """Stands for the server of the C library, but publishes the statuses in the next turn of the executor."""

    def __init__(self, handle: Any, node: Any) -> None:
        self._handle = handle
        self._node = node
        self._waiting = False
        self._closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)

    def publish_status(self) -> None:
        """Publish the statuses of all goals soon."""
        if not self._waiting:
            self._waiting = True
            self._node.executor.create_task(self._publish)

    def _publish(self) -> None:
        self._waiting = False
        if not self._closed:
            self._handle.publish_status()

    def close(self) -> None:
        """Publish no more."""
        self._closed = True
