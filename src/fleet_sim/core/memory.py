"""Keeps freed memory for the next step."""

from __future__ import annotations

from functools import cache

import numpy as np

_KEPT = 30 << 20


@cache
def keep_freed_memory() -> None:
    """Make the C allocator keep tens of megabytes of freed memory instead of returning them each time.

    A step makes and frees the same temporary arrays again and again. glibc returns freed memory above a
    threshold that follows the largest block ever mapped and freed, at first a few hundred kilobytes; getting
    it back page by page costs more than the arithmetic on it (measured: half of the time of a collision check
    of 10,000 robots). Freeing one large block that was never touched raises the threshold. Elsewhere this
    does nothing.
    """
    block = np.empty(_KEPT, np.uint8)
    del block
