"""Several parties that must all be ready."""

import threading
from collections.abc import Callable


class ReadyAggregator:
    """Calls `notify_fn` once, when `ready` has been called `num_callbacks` times."""

    def __init__(self, notify_fn: Callable[[], None], num_callbacks: int) -> None:
        self._notify = notify_fn
        self._left = num_callbacks
        self._lock = threading.Lock()

    def ready_fn(self) -> None:
        """One more is ready."""
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            self._notify()
