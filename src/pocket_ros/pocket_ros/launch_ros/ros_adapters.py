"""The ROS node of a launch, through which its actions talk to the nodes they start."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..launch.description import LaunchContext
from ..launch.event_handlers import OnShutdown

if TYPE_CHECKING:
    from ..rclpy.context import Context
    from ..rclpy.executors import SingleThreadedExecutor
    from ..rclpy.node import Node
    from ..rclpy.service import Client

_GLOBAL = "ros_adapter"
LOOK_SECONDS = 0.2
"""How often a wait for another node looks whether the launch ends."""


class ROSAdapter:
    """A context, a node and an executor that spins it in a thread of its own, between start and shutdown."""

    def __init__(self, *, argv: Sequence[str] | None = None, autostart: bool = True) -> None:
        self.argv = list(argv or ())
        self._context: Context | None = None
        self._node: Node | None = None
        self._executor: SingleThreadedExecutor | None = None
        self._thread: threading.Thread | None = None
        self._running = False
        if autostart:
            self.start()

    def start(self) -> None:
        """Make the node and spin it. Raises RuntimeError where it runs already."""
        from ..rclpy.context import Context  # most launches need none, and start the faster
        from ..rclpy.executors import SingleThreadedExecutor
        from ..rclpy.node import Node

        if self._running:
            raise RuntimeError("Cannot start a ROS adapter that is already running")
        self._context = Context()
        self._context.init(args=self.argv)
        self._node = Node(f"launch_ros_{os.getpid()}", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._running = True
        self._thread = threading.Thread(target=self._spin, args=(self._executor,), daemon=True)
        self._thread.start()

    def _spin(self, executor: SingleThreadedExecutor) -> None:
        while self._running:
            executor.spin_once(timeout_sec=1.0)

    def shutdown(self) -> None:
        """End the node. Raises RuntimeError where it does not run."""
        if not self._running:
            raise RuntimeError("Cannot shutdown a ROS adapter that is not running")
        self._running = False
        assert self._executor and self._thread and self._node and self._context
        self._executor.wake()
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    @property
    def ros_context(self) -> Context | None:
        """The context, None before the start."""
        return self._context

    @property
    def ros_node(self) -> Node:
        """The node. Raises RuntimeError before the start."""
        if self._node is None:
            raise RuntimeError("the ROS adapter has not been started, it has no node")
        return self._node

    @property
    def ros_executor(self) -> SingleThreadedExecutor | None:
        """The executor, None before the start."""
        return self._executor


def find_ros_adapter(context: LaunchContext) -> ROSAdapter | None:
    """The adapter of a launch, None where nobody has asked for it yet."""
    found = context.get_locals_as_dict().get(_GLOBAL)
    return found if isinstance(found, ROSAdapter) else None


def use_sim_time(adapter: ROSAdapter, value: bool) -> None:
    """Have the node of a launch go by simulated time, or not."""
    from ..rclpy.parameter import Parameter

    adapter.ros_node.set_parameters([Parameter("use_sim_time", value=value)])


def get_ros_adapter(context: LaunchContext) -> ROSAdapter:
    """The adapter of a launch, made when it is first asked for; it ends with the launch."""
    found = find_ros_adapter(context)
    if found is not None:
        return found
    adapter = ROSAdapter()
    context.extend_globals({_GLOBAL: adapter})

    def end(event: object, context: LaunchContext) -> None:
        adapter.shutdown()

    # Behind the handlers of nodes: these may still be asked something.
    context.register_event_handler(OnShutdown(on_shutdown=end), append=True)
    return adapter


def get_ros_node(context: LaunchContext) -> Node:
    """The node of a launch's adapter."""
    return get_ros_adapter(context).ros_node


def call_service(client: Client, request: Any, context: LaunchContext) -> Any:
    """Wait for a service and its answer, beside the launch; None where the launch ends before.

    Raises what the call raises.
    """
    try:
        while not client.wait_for_service(timeout_sec=LOOK_SECONDS):
            if context.is_shutdown:
                return None
        answered = threading.Event()
        future = client.call_async(request)
        future.add_done_callback(lambda _: answered.set())
        while not answered.wait(LOOK_SECONDS):
            if context.is_shutdown:
                return None
        return future.result()
    except Exception:
        if context.is_shutdown:  # the launch's node, and the client with it, ended meanwhile
            return None
        raise
