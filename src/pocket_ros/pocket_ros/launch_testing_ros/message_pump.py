"""A node that is served while a test goes on."""

from __future__ import annotations

import threading

from ..rclpy.context import Context
from ..rclpy.executors import SingleThreadedExecutor
from ..rclpy.node import Node

_JOIN_SECONDS = 5.0


class MessagePump:
    """Spins a node in a thread of its own between `start` and `stop`."""

    def __init__(self, node: Node, context: Context | None = None) -> None:
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._spin, name="msg_pump_thread", daemon=True)
        self._running = True

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for a callback that is at work. Raises RuntimeError if that takes seconds."""
        self._running = False
        self._executor.wake()
        self._thread.join(_JOIN_SECONDS)
        if self._thread.is_alive():
            raise RuntimeError(f"a callback has been at work for {_JOIN_SECONDS:g} s; the thread goes on")
        self._executor.shutdown()

    def _spin(self) -> None:
        while self._running:
            self._executor.spin_once(timeout_sec=1.0)
