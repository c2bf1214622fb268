"""Deleting endpoints, many at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock

_THREADS = 16


class Deleter:
    """Carries deletions out in threads of its own: each is a millisecond of waiting for Cyclone's threads.

    Whoever looks at what deletions change calls `settle` first, so nobody sees that they take their time.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._pending: set[Future[None]] = set()

    def delete(self, work: Callable[[], None]) -> None:
        """Have `work` done soon."""
        try:
            with self._lock:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(_THREADS, "dds_delete")
                future = self._pool.submit(work)
                self._pending.add(future)
        except RuntimeError:  # an interpreter that is ending starts no threads
            work()
        else:
            future.add_done_callback(self._pending.discard)

    def settle(self) -> None:
        """Wait until everything is deleted."""
        if self._pending:
            with self._lock:
                pending = list(self._pending)
            wait(pending)

    def close(self) -> None:
        """Wait until everything is deleted, and end the threads; a new deletion begins anew."""
        self.settle()
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()
