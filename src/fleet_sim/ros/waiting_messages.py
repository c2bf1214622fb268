"""What something has come for: of thousands of subscriptions and action servers, without asking each of them.

In rclpy an empty `take` costs a microsecond, and its executor builds the set of all that it waits for anew at each
turn: with thousands of robots both cost more than the simulation. The library below it, rcl, calls a function where a
message comes, but rclpy offers no way to give it one. So it is given here: `sem_post` of the C library, on a semaphore
of each entity that nobody waits for. It runs in the threads of the middleware without the interpreter, which such a
thread must never wait for: what holds the interpreter may be waiting for that thread.

Where there is no rcl (pocket_ros has wait sets that cost by what comes) or the middleware calls no function, nothing is
watched, and all are asked as ever.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from itertools import count, islice
from threading import Event, Lock, Thread
from typing import Any

import numpy as np

from fleet_sim.base.arrays import AnyArray

SEMAPHORE = 32
"""Bytes of a semaphore, in every C library of Linux."""
WORDS = SEMAPHORE // 8
BLOCK = 1024
"""Semaphores that are made at once; they stay where they are."""
SUBSCRIPTION = ("rcl_subscription_set_on_new_message_callback",)
ACTION_SERVER = tuple(f"rcl_action_server_set_{part}_service_callback" for part in ("goal", "cancel", "result"))
"""Functions of rcl, from ROS 2 Humble on, by which an entity calls where something comes."""


class _Libraries:
    """The functions that are called, of libraries that the process has loaded already."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None)
        self.allocate, self.begin = libc.calloc, libc.sem_init
        self.allocate.restype, self.allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
        self.begin.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint]
        self.post = ctypes.cast(libc.sem_post, ctypes.c_void_p)
        self.forget_error = ctypes.CDLL("librcutils.so").rcutils_reset_error
        self._functions: dict[str, Any] = {}
        self._parts = [ctypes.CDLL("librcl.so"), ctypes.CDLL("librcl_action.so")]

    def setter(self, name: str) -> Any:
        """Return a function of rcl; raises AttributeError where this version has none of that name."""
        if name not in self._functions:
            part = self._parts[name.startswith("rcl_action")]
            function = getattr(part, name)
            function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
            self._functions[name] = function
        return self._functions[name]


@cache
def _libraries() -> _Libraries | None:
    try:
        return _Libraries()
    except (OSError, AttributeError):
        return None


class Arrivals:
    """Says for which of its keys something has come. `watch` and `forget` are for one thread, `take` for one, too."""

    def __init__(self) -> None:
        self._blocks: list[tuple[int, AnyArray]] = []
        self._quiet = np.zeros(0, np.uint64)
        self._free: list[int] = []
        self._keys: list[Hashable] = []
        self._places: dict[Hashable, tuple[int, int, Sequence[str]]] = {}

    def watch(self, key: Hashable, handle: Any, setters: Sequence[str]) -> bool:
        """Watch an entity of rclpy from now on; returns False where that cannot be done.

        What has come before is taken for new.
        """
        library, pointer = _libraries(), getattr(handle, "pointer", None)
        if library is None or not isinstance(pointer, int):
            return False
        slot = self._slot(library)
        self._keys[slot] = key
        place = self._blocks[slot // BLOCK][0] + slot % BLOCK * SEMAPHORE
        self._places[key] = (slot, pointer, setters)
        try:
            refused = any(library.setter(name)(pointer, library.post, place) for name in setters)
        except AttributeError:
            refused = True
        if refused:
            library.forget_error()
            self.forget(key)
        return not refused

    def forget(self, key: Hashable) -> None:
        """Watch an entity no longer; to be called before it is destroyed."""
        library, place = _libraries(), self._places.pop(key, None)
        if library is None or place is None:
            return
        slot, pointer, setters = place
        for name in setters:
            try:
                if library.setter(name)(pointer, None, None):
                    library.forget_error()
            except AttributeError:
                pass
        self._keys[slot] = None
        self._free.append(slot)

    def take(self) -> list[Any]:
        """Return the keys for which something has come since the last call. For some of them there may be nothing."""
        found = []
        for number, (_, block) in enumerate(self._blocks):
            if (words := np.flatnonzero(block != self._quiet)).size:
                slots = np.unique(words // WORDS)
                # Before anything is taken: what comes from now on is found by the next call.
                block.reshape(BLOCK, WORDS)[slots] = self._quiet[:WORDS]
                found += [self._keys[number * BLOCK + slot] for slot in slots.tolist()]
        return [key for key in found if key is not None]

    def _slot(self, library: _Libraries) -> int:
        if not self._free:
            # Never given back: the middleware's threads may still write here when the interpreter is gone.
            place = library.allocate(BLOCK, SEMAPHORE)
            if not place:
                raise MemoryError("no memory for semaphores")
            for index in range(BLOCK):
                library.begin(place + index * SEMAPHORE, 0, 0)
            block = np.ctypeslib.as_array((ctypes.c_uint64 * (BLOCK * WORDS)).from_address(place))
            self._quiet = block.copy()
            begin = len(self._blocks) * BLOCK
            # The keys first: another thread may be looking at the blocks.
            self._keys += [None] * BLOCK
            self._blocks.append((place, block))
            self._free += range(begin + BLOCK - 1, begin - 1, -1)
        return self._free.pop()


# Action servers that an executor waits on only while they have something to do.


PERIOD = 0.01
"""In s of real time: how often is looked whether something has come for an action server. Each look costs a wake-up."""
MOST_AWAKE = 64
"""Action servers that an executor waits on at once; with more, a turn takes longer than the requests of all of them."""


class SleepingServers:
    """The action servers of a node: `awake` are those that its executor has to wait on.

    `wake()` ends a wait of the executor, so that it waits on those, too. A server is awake until it was asked and had
    nothing to do.
    """

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._arrivals = Arrivals()
        # In order, as the first one to wake comes first; with the number of the call that woke it.
        self._awake: dict[Any, int] = {}
        self._calls = count()
        self._lock = Lock()
        self._all: dict[Any, None] = {}
        self._next = 0
        self._closed = Event()

    def add(self, server: Any, handle: Any) -> bool:
        """Add a server with its handle; returns False where it has to be waited on all the time."""
        if not self._arrivals.watch(server, handle, ACTION_SERVER):
            return False
        if not self._all:
            Thread(target=self._look_for_arrivals, name="arrivals", daemon=True).start()
        self._all[server] = None
        return True

    def remove(self, server: Any) -> None:
        """Remove a server, before it is destroyed."""
        self._arrivals.forget(server)
        self._all.pop(server, None)
        self._awake.pop(server, None)

    def call_of(self, server: Any) -> int:
        """Return the number of the call that a server is awake by."""
        return self._awake.get(server, -1)

    def rest(self, server: Any, call: int) -> None:
        """A server that was asked after the call of that number has nothing to do."""
        with self._lock:
            # Called again since it was asked, it stays awake.
            if self._awake.get(server) == call:
                del self._awake[server]

    @property
    def awake(self) -> list[Any]:
        """Servers to wait on now."""
        return list(islice(self._awake.copy(), MOST_AWAKE))

    def look_at_some(self) -> None:
        """Have some servers looked at, others at each call: what nobody sends is not seen, as goals that expire."""
        servers = list(self._all)
        self._next = self._next if self._next < len(servers) else 0
        self._call(servers[self._next : self._next + MOST_AWAKE])
        self._next += MOST_AWAKE

    def close(self) -> None:
        """Look no more."""
        self._closed.set()

    def _look_for_arrivals(self) -> None:
        while not self._closed.wait(PERIOD):
            if come := self._arrivals.take():
                self._call(come)
                self._wake()

    def _call(self, servers: Sequence[Any]) -> None:
        with self._lock:
            self._awake.update(zip(servers, self._calls, strict=False))
