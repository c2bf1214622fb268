"""What follows the transitions of a node."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .state_machine import LifecycleState, TransitionCallbackReturn


class ManagedEntity:
    """Is told of each transition of its node; by default it agrees."""

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The node is being configured; `state` is the one it comes from."""
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The node is being cleaned up."""
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The node is being shut down."""
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The node is being activated."""
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The node is being deactivated."""
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """A callback raised, or said that there is an error."""
        return TransitionCallbackReturn.SUCCESS


class SimpleManagedEntity(ManagedEntity):
    """An entity that works only while its node is active."""

    def __init__(self) -> None:
        self._enabled = False

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._enabled = True
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._enabled = False
        return TransitionCallbackReturn.SUCCESS

    @property
    def is_activated(self) -> bool:
        """Whether it works now."""
        return self._enabled

    @staticmethod
    def when_enabled(
        wrapped: Callable[..., Any] | None = None,
        *,
        when_not_enabled: Callable[..., None] | None = None,
    ) -> Any:
        """Decorates a method: while the entity does not work, `when_not_enabled` is called in its place."""

        def decorate(method: Callable[..., Any]) -> Callable[..., None]:
            @wraps(method)
            def only_when_enabled(self: SimpleManagedEntity, *args: Any, **kwargs: Any) -> None:
                if self._enabled:
                    method(self, *args, **kwargs)
                elif when_not_enabled is not None:
                    when_not_enabled()

            return only_when_enabled

        return decorate if wrapped is None else decorate(wrapped)
