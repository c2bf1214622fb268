"""Which callbacks may run at the same time."""

from __future__ import annotations

from threading import Lock
from weakref import WeakSet


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
