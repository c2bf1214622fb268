"""ChunkCompressor: compresses chunks the better, the more time there is."""

from __future__ import annotations

import math
from time import thread_time

from fleet_sim.errors import missing_extra

_FAST = 2
"""A level of zstd: half the time of its own default, 3, and nothing larger, as messages repeat those before them."""
_THOROUGH = {"strategy": 3, "hash_log": 18, "chain_log": 17, "search_log": 4, "min_match": 7, "window_log": 21}
"""A fifth smaller where robots drive along new paths all the time: as level 7 of zstd, in two thirds of its time. It
looks at 16 places for what repeats, which are seven bytes or more in messages of robots."""
_TIMES_LONGER = 4.0
"""How much longer that takes."""
SHARE = 0.5
"""Of the time in which a chunk was filled, what compressing it thoroughly may take of a processor."""


class ChunkCompressor:
    """Compresses with zstd and its checksum; for one thread. Releases the interpreter meanwhile.

    A run at hundreds of times real time fills a chunk in hundredths of a second, which is then compressed fast. A run
    with traffic, or in real time, leaves time to compress thoroughly. Raises MissingDependencyError without the extra
    `record`.
    """

    def __init__(self) -> None:
        try:
            from zstandard import ZstdCompressionParameters, ZstdCompressor
        except ModuleNotFoundError as error:
            raise missing_extra("zstandard", "record", "a recording") from error
        # With the checksum of zstd, which takes a third of the time of the one that MCAP has.
        self._fast = ZstdCompressor(_FAST, write_checksum=True)
        thorough = ZstdCompressionParameters(**_THOROUGH, write_checksum=True)
        self._thorough = ZstdCompressor(compression_params=thorough)
        # In s of processor time for a byte, compressed fast; of the last chunk: it depends on what is in it.
        self._pace = math.inf

    def compress(self, raw: memoryview, time: float) -> bytes:
        """Return the content `raw` of a chunk compressed, given the `time` in s of real time that filling it took."""
        thorough = self._pace * len(raw) * _TIMES_LONGER <= SHARE * time
        begin = thread_time()
        content = (self._thorough if thorough else self._fast).compress(raw)
        took = thread_time() - begin
        self._pace = took / max(len(raw), 1) / (_TIMES_LONGER if thorough else 1.0)
        return content
