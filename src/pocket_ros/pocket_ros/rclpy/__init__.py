"""The ROS 2 client library for Python, on Cyclone DDS.

import rclpy
from rclpy.node import Node

rclpy.init()
node = Node("talker")
rclpy.spin(node)
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if find_spec("cyclonedds") is None:
    raise ModuleNotFoundError(
        "pocket_ros talks over the package cyclonedds, which is not installed; its wheels are for 3.10 to "
        "3.13. Use one of these Pythons, or a ROS 2 made for this one",
        name="cyclonedds",
    )

from .context import (
    Context,
    SignalHandlerOptions,
    get_default_context,
    get_rmw_implementation_identifier,
    install_signal_handlers,
    ok,
    try_shutdown,
    uninstall_signal_handlers,
)
from .context import shutdown as _shutdown
from .parameter import Parameter
from .task import Future

if TYPE_CHECKING:
    from .executors import Executor
    from .node import Node

__all__ = [
    "Context",
    "Future",
    "Parameter",
    "create_node",
    "get_default_context",
    "get_global_executor",
    "get_rmw_implementation_identifier",
    "init",
    "ok",
    "shutdown",
    "spin",
    "spin_once",
    "spin_until_future_complete",
    "try_shutdown",
]


def __getattr__(name: str) -> Any:
    """A module of the package, imported when it is asked for: `rclpy.qos` after `import rclpy` alone."""
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'rclpy' has no attribute '{name}'")


_executor: Executor | None = None


class InitContextManager:
    """What `init` answers: shuts down at the end of a `with` block."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def __enter__(self) -> InitContextManager:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.context.ok():
            shutdown(context=None if self.context is get_default_context() else self.context)


def init(
    *,
    args: list[str] | None = None,
    context: Context | None = None,
    domain_id: int | None = None,
    signal_handler_options: SignalHandlerOptions | None = None,
) -> InitContextManager:
    """Initialise ROS communications, in the default context where none is given.

    Raises RuntimeError when that has been done, and for a wrong domain or ROS argument.
    """
    default = context is None or context is get_default_context()
    context = get_default_context() if context is None else context
    if signal_handler_options is None:
        signal_handler_options = SignalHandlerOptions.ALL if default else SignalHandlerOptions.NO
    context.init(args, domain_id=domain_id)
    install_signal_handlers(signal_handler_options)
    return InitContextManager(context)


def get_global_executor() -> Executor:
    """The executor of the spin functions; it keeps what coroutines left unfinished."""
    global _executor
    executor = _executor
    if executor is None:
        from .executors import SingleThreadedExecutor

        executor = _executor = SingleThreadedExecutor()
        get_default_context().on_shutdown(_reset_executor)
    return executor


def _reset_executor() -> None:
    global _executor
    _executor = None


def shutdown(*, context: Context | None = None, uninstall_handlers: bool | None = None) -> None:
    """Shut a context down. Raises RuntimeError when that has happened already."""
    default = context is None or context is get_default_context()
    try:
        _shutdown(context=context)
    finally:
        if uninstall_handlers or (uninstall_handlers is None and default):
            uninstall_signal_handlers()


def create_node(node_name: str, **options: Any) -> Node:
    """A node; the options are those of `rclpy.node.Node`."""
    from .node import Node

    return Node(node_name, **options)


def spin_once(node: Node, *, executor: Executor | None = None, timeout_sec: float | None = None) -> None:
    """Run one callback, waiting up to `timeout_sec` for it (forever where None or negative)."""
    executor = get_global_executor() if executor is None else executor
    added = executor.add_node(node)
    try:
        executor.spin_once(timeout_sec=timeout_sec)
    finally:
        if added:
            executor.remove_node(node)


def spin(node: Node, executor: Executor | None = None) -> None:
    """Run callbacks until shutdown.

    Raises ExternalShutdownException when it came from outside the callbacks' control.
    """
    executor = get_global_executor() if executor is None else executor
    added = executor.add_node(node)
    try:
        while executor.context.ok():
            executor.spin_once()
    finally:
        if added:
            executor.remove_node(node)


def spin_until_future_complete(
    node: Node, future: Future[Any], executor: Executor | None = None, timeout_sec: float | None = None
) -> None:
    """Run callbacks until the future is done, the timeout has passed, or shutdown."""
    executor = get_global_executor() if executor is None else executor
    added = executor.add_node(node)
    try:
        executor.spin_until_future_complete(future, timeout_sec)
    finally:
        if added:
            executor.remove_node(node)
