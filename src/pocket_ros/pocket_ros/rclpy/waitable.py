"""Kinds of things to wait on that a program makes itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from .context import Context, get_default_context
from .entity import CallbackGroup, Entity, Handled
from .exceptions import InvalidHandle, RCLError

if TYPE_CHECKING:
    from ..dds.participant import WaitSet

__all__ = ["NumberOfEntities", "Waitable"]


_KINDS = ("subscription", "guard_condition", "timer", "client", "service", "event")
# Executors look up what is triggered by key, and find nothing under this one.
_NO_KEY = -1


class NumberOfEntities:
    """How many entities of each kind a waitable waits on; `+` adds them up."""

    __slots__ = tuple(f"num_{kind}s" for kind in _KINDS)

    def __init__(
        self,
        num_subs: int = 0,
        num_gcs: int = 0,
        num_timers: int = 0,
        num_clients: int = 0,
        num_services: int = 0,
        num_events: int = 0,
    ) -> None:
        counts = (num_subs, num_gcs, num_timers, num_clients, num_services, num_events)
        for name, count in zip(self.__slots__, counts, strict=True):
            setattr(self, name, count)

    def __add__(self, other: NumberOfEntities) -> NumberOfEntities:
        return NumberOfEntities(*(getattr(self, n) + getattr(other, n) for n in self.__slots__))

    def __repr__(self) -> str:
        return f"<NumberOfEntities({', '.join(str(getattr(self, n)) for n in self.__slots__)})>"


class Waitable:
    """Something of a program's own that executors wait on and run; added by `Node.add_waitable`.

    Before each wait `add_to_wait_set` says on which entities; after it `is_ready` says whether there is
    something to do. Then `take_data` takes it, and the coroutine `execute` does it.
    """

    def __init__(self, callback_group: CallbackGroup) -> None:
        self.callback_group = callback_group
        self.callback_group.add_entity(self)
        self._futures: list[Any] = []

    def __enter__(self) -> Any:
        """An executor begins to wait on the entities; InvalidHandle says that there is nothing to wait on."""
        return None

    def __exit__(self, *_: object) -> None:
        """The wait is over."""
        return None

    def add_future(self, future: Any) -> None:
        """Have the callbacks of a future run by the executor that runs this."""
        self._futures.append(future)

    def remove_future(self, future: Any) -> None:
        """No longer do so. Raises ValueError for a future that was not added."""
        self._futures.remove(future)

    def is_ready(self, wait_set: Any) -> bool:
        """Whether there is something to take."""
        raise NotImplementedError("a waitable defines is_ready(wait_set)")

    def take_data(self) -> Any:
        """Take what is there, so that the next wait does not end for it again."""
        raise NotImplementedError("a waitable defines take_data()")

    async def execute(self, taken_data: Any) -> None:
        """Do what is to be done with what was taken."""
        raise NotImplementedError("a waitable defines execute(taken_data)")

    def get_num_entities(self) -> NumberOfEntities:
        """How many entities `add_to_wait_set` adds at most."""
        raise NotImplementedError("a waitable defines get_num_entities()")

    def add_to_wait_set(self, wait_set: Any) -> None:
        """Add the entities to be waited on; what the calls answer is the index for `wait_set.is_ready`."""
        raise NotImplementedError("a waitable defines add_to_wait_set(wait_set)")


class WaitableWaitSet:
    """The wait set that a waitable sees: its own entities, by kind and index.

    Raises RCLError for more entities of a kind than the waitable announced.
    """

    def __init__(self, room: NumberOfEntities) -> None:
        self._room = room
        self._entities: dict[str, list[Any]] = {kind: [] for kind in _KINDS}
        self._ready: set[tuple[str, int]] = set()

    def add_subscription(self, subscription: Any) -> int:
        return self._add("subscription", subscription)

    def add_guard_condition(self, guard_condition: Any) -> int:
        return self._add("guard_condition", guard_condition)

    def add_timer(self, timer: Any) -> int:
        return self._add("timer", timer)

    def add_client(self, client: Any) -> int:
        return self._add("client", client)

    def add_service(self, service: Any) -> int:
        return self._add("service", service)

    def add_event(self, event: Any) -> int:
        raise NotImplementedError("WaitSet.add_event is not covered; a full ROS 2 has it")

    def is_ready(self, entity_type: str, index: int) -> bool:
        """Whether the entity of that kind and index ended the wait."""
        return (entity_type, index) in self._ready

    def _add(self, kind: str, entity: Any) -> int:
        found = self._entities[kind]
        if len(found) >= getattr(self._room, f"num_{kind}s"):
            raise RCLError(
                f"the wait set has no room for another {kind}: get_num_entities() answered {self._room!r}"
            )
        found.append(entity)
        return len(found) - 1

    def conditions(self) -> set[int]:
        """What DDS is to wait on."""
        entities = [e for kind in _KINDS if kind != "timer" for e in self._entities[kind]]
        return {condition for entity in entities for condition in entity.conditions()}

    def timers(self) -> list[Any]:
        """What ends the wait by the clock."""
        return self._entities["timer"]

    def look(self) -> None:
        """Find out what is ready. Triggers of guard conditions are taken by this, as by a wait of rcl."""
        from ..dds.library import lib

        for kind, entities in self._entities.items():
            for index, entity in enumerate(entities):
                if kind == "timer":
                    ready = entity.is_ready()
                elif kind == "guard_condition":
                    ready = entity.take() is not None
                else:
                    ready = any(lib.dds_triggered(condition) > 0 for condition in entity.conditions())
                if ready:
                    self._ready.add((kind, index))


class WaitableEntity(Entity):
    """A program's waitable as executors run it."""

    turn = 0

    def __init__(self, waitable: Waitable) -> None:
        super().__init__(None)
        # The waitable is in the group already, and stays the only one there for the two of them.
        self.callback_group = waitable.callback_group
        self.waitable = waitable
        self.is_pending = False
        self.attached: set[int] = set()

    def take(self) -> Any | None:
        self.is_pending = False
        return (self.waitable.take_data(),)

    def run(self, work: Any) -> Any:
        for future in self.waitable._futures:
            if self.node is not None and self.node.executor is not None:
                future._set_executor(self.node.executor)
        return self.waitable.execute(*work)


class WaitableRound:
    """One wait on the waitables of an executor: what they wait on is asked before, what is ready after."""

    def __init__(self, entities: list[WaitableEntity], wait_set: WaitSet) -> None:
        self._asked: list[tuple[WaitableEntity, WaitableWaitSet]] = []
        with ExitStack() as in_use:
            for entity in entities:
                wanted = self._ask(entity, in_use)
                for condition in entity.attached - wanted:
                    wait_set.detach(condition)
                for condition in wanted - entity.attached:
                    wait_set.attach(condition, _NO_KEY)
                entity.attached = wanted
            self._in_use = in_use.pop_all()

    def _ask(self, entity: WaitableEntity, in_use: ExitStack) -> set[int]:
        group = entity.callback_group
        if entity.is_pending or (group is not None and not group.can_execute(entity.waitable)):
            return set()
        view = WaitableWaitSet(entity.waitable.get_num_entities())
        try:
            in_use.enter_context(entity.waitable)
            entity.waitable.add_to_wait_set(view)
            wanted = view.conditions()
        except InvalidHandle:  # what it waits on has ended
            return set()
        self._asked.append((entity, view))
        return wanted

    def limit(self, timeout_ns: int) -> int:
        """How long to wait at most, for the timers among the entities."""
        for _, view in self._asked:
            for timer in view.timers():
                left = timer.time_until_next_call()
                if left is not None and not timer.clock.is_simulated:
                    timeout_ns = min(timeout_ns, max(left, 0))
        return timeout_ns

    def watch(self, wake: Any) -> None:
        """End the wait when the next call of a timer changes, as by simulated time."""
        for _, view in self._asked:
            for timer in view.timers():
                timer.on_schedule = lambda _: wake()

    def ready(self) -> Iterator[WaitableEntity]:
        """Those that have something to do, after the wait."""
        try:
            for entity, view in self._asked:
                view.look()
                if entity.waitable.is_ready(view):
                    entity.is_pending = True
                    yield entity
        finally:
            self._in_use.close()


# Conditions that a program triggers itself.


class GuardCondition(Entity, Handled):
    """Runs its callback in an executor after `trigger`."""

    def __init__(
        self,
        callback: Callable[[], Any] | None,
        callback_group: CallbackGroup | None,
        context: Context | None = None,
    ) -> None:
        from ..dds.participant import Guard

        super().__init__(callback_group)
        self.callback = callback
        context = get_default_context() if context is None else context
        self._guard = Guard(context.participant)

    def trigger(self) -> None:
        """Have the callback run. Safe from any thread. Raises InvalidHandle after destruction."""
        self.check_alive()
        self._guard.trigger()

    def destroy(self) -> None:
        """End it."""
        if not self._destroyed:
            self._destroyed = True
            self._guard.close()

    def conditions(self) -> list[int]:
        return [self._guard.handle]

    def take(self) -> Any | None:
        return self if self._guard.reset() else None

    def run(self, work: Any) -> Any:
        return self.callback() if self.callback is not None else None
