"""Waiting for data, statuses and triggers."""

from __future__ import annotations

import ctypes as ct

from .library import INFINITY, check, lib
from .participant import Participant

_MAX_TRIGGERED = 1024


class Guard:
    """A condition that is triggered by a call."""

    def __init__(self, participant: Participant) -> None:
        self.handle = check(lib.dds_create_guardcondition(participant.handle), "a guard condition")

    def trigger(self) -> None:
        """Wake every wait set this guard is attached to. Safe from any thread."""
        lib.dds_set_guardcondition(self.handle, True)

    def reset(self) -> bool:
        """Take the trigger back; whether there was one."""
        triggered = ct.c_bool()
        lib.dds_take_guardcondition(self.handle, triggered)
        return triggered.value

    def close(self) -> None:
        """Delete the guard."""
        lib.dds_delete(self.handle)


class WaitSet:
    """Waits on any number of attached conditions; what a wait costs depends on what is triggered alone."""

    def __init__(self, participant: Participant, most: int = _MAX_TRIGGERED) -> None:
        self._handle = check(lib.dds_create_waitset(participant.handle), "a wait set")
        self._triggered = (ct.c_ssize_t * most)()
        self._most = most
        self._wait = lib.dds_waitset_wait

    def attach(self, handle: int, key: int) -> None:
        """Wait on a condition or endpoint from now on; `key` is what `wait` answers for it."""
        check(lib.dds_waitset_attach(self._handle, handle, key), "to attach a condition to a wait set")

    def detach(self, handle: int) -> None:
        """No longer wait on it; an entity that is gone already is no error."""
        lib.dds_waitset_detach(self._handle, handle)

    def wait(self, timeout_ns: int = INFINITY) -> list[int]:
        """The keys of what is triggered, waiting up to `timeout_ns`; empty on timeout.

        At most `most` keys are answered at once; the rest stay triggered.
        """
        count = self._wait(self._handle, self._triggered, self._most, timeout_ns)
        if count <= 0:
            return []
        return self._triggered[: min(count, self._most)]

    def close(self) -> None:
        """Delete the wait set."""
        lib.dds_delete(self._handle)
