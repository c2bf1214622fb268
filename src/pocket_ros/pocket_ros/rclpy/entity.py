"""What an executor can wait on and run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, TypeVar
from weakref import WeakSet

from .exceptions import InvalidHandle

# Which callbacks may run at the same time.


class CallbackGroup:
    """A set of entities whose callbacks follow one rule."""

    def __init__(self) -> None:
        self.entities: WeakSet[object] = WeakSet()

    def add_entity(self, entity: object) -> None:
        """Put an entity into the group."""
        self.entities.add(entity)

    def has_entity(self, entity: object) -> bool:
        """Whether an entity is in the group."""
        return entity in self.entities

    def can_execute(self, entity: object) -> bool:
        """Whether the entity's callback may start now."""
        raise NotImplementedError("a callback group defines can_execute()")

    def beginning_execution(self, entity: object) -> bool:
        """Claim the right to run; False where another callback was faster."""
        raise NotImplementedError("a callback group defines beginning_execution()")

    def ending_execution(self, entity: object) -> None:
        """The entity's callback has ended."""
        raise NotImplementedError("a callback group defines ending_execution()")


class ReentrantCallbackGroup(CallbackGroup):
    """Any number of callbacks at once, also of one entity."""

    def can_execute(self, entity: object) -> bool:
        return True

    def beginning_execution(self, entity: object) -> bool:
        return True

    def ending_execution(self, entity: object) -> None:
        pass


class MutuallyExclusiveCallbackGroup(CallbackGroup):
    """One callback at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._active: object | None = None
        self._lock = Lock()

    def can_execute(self, entity: object) -> bool:
        return self._active is None

    def beginning_execution(self, entity: object) -> bool:
        with self._lock:
            if self._active is not None:
                return False
            self._active = entity
            return True

    def ending_execution(self, entity: object) -> None:
        with self._lock:
            if self._active is entity:
                self._active = None


class Destroyable:
    """Something that can be used until it is destroyed."""

    _destroyed = False

    def check_alive(self) -> None:
        """Raises InvalidHandle after destruction."""
        if self._destroyed:
            raise InvalidHandle(f"cannot use this {type(self).__name__} because it has been destroyed")


class Entity(Destroyable):
    """Something with conditions to wait on, work to take when one is triggered, and a callback for it.

    `take` answers None where there was nothing after all. `run` answers a coroutine where the callback is
    one.
    """

    turn: ClassVar[int] = 3
    """Which comes first of those that are ready at once, as in rclpy: waitables 0, timers 1, subscriptions 2,
    clients 4, services 5."""

    def __init__(self, callback_group: CallbackGroup | None) -> None:
        self.callback_group = callback_group
        if callback_group is not None:
            callback_group.add_entity(self)
        self.node: Any = None  # set when an executor takes the node
        self.executor_key = 0
        # Work that was taken from the middleware and still waits for its turn.
        self.backlog: deque[Any] = deque()
        self._on_destroy: list[Callable[[], None]] = []

    def conditions(self) -> list[int]:
        """DDS conditions or endpoints whose trigger means there may be work."""
        return []

    def take(self) -> Any | None:
        """The next piece of work."""
        raise NotImplementedError(f"{type(self).__name__} is nothing that can be waited on")

    def run(self, work: Any) -> Any:
        """Run the callback with what `take` answered."""
        raise NotImplementedError(f"{type(self).__name__} is nothing that can be run")


# What `handle` answers: a thing as the middleware knows it.


_Owner = TypeVar("_Owner")
_Self = TypeVar("_Self", bound="Handled")


class Handle(Generic[_Owner]):
    """Stands for its owner; unlike that it is not ended by the end of a `with` block.

    Programs write `with node.handle:` to keep a node from going away meanwhile. It has what its owner has.
    """

    def __init__(self, owner: _Owner) -> None:
        self.owner = owner

    def __enter__(self) -> Handle[_Owner]:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.owner, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and other.owner is self.owner

    def __hash__(self) -> int:
        return id(self.owner)


class Handled(Destroyable):
    """Something of the middleware, with a handle."""

    @property
    def handle(self: _Self) -> Handle[_Self]:
        """What stands for it in a `with` block. Raises InvalidHandle after destruction."""
        self.check_alive()
        return Handle(self)


# Things that end with a `with` block.


_WithBlockSelf = TypeVar("_WithBlockSelf", bound="WithBlock")


class WithBlock:
    """`with thing:` ends the thing at the end of the block, whether or not something was raised in it."""

    def __enter__(self: _WithBlockSelf) -> _WithBlockSelf:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self._end_block()

    def _end_block(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines what ends with a block")


# The type of what can be ended while it is in use.


class DestroyableType(Protocol):
    """Kept from ending by a `with` block."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def destroy_when_not_in_use(self) -> None: ...
