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
_WORTH = 0.95
"""How small it must become, compared to compressing it fast: where robots drive as they did, little is gained."""
_LATER = 8
"""Chunks until that is looked at again."""


class ChunkCompressor:
    """Compresses with zstd and its checksum; for one thread. Releases the interpreter meanwhile.

    A run at hundreds of times real time fills a chunk in hundredths of a second, which is then compressed fast. A run
    with traffic, or in real time, leaves time to compress thoroughly, where that is worth it. Raises
    MissingDependencyError without the extra `record`.
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
        # In s of processor time for a byte, of the last chunk that was compressed fast.
        self._pace = math.inf
        self._pays, self._until_tried = False, 0

    def compress(self, raw: memoryview, time: float) -> bytes:
        """Return the content `raw` of a chunk compressed, given the `time` in s of real time that filling it took."""
        if self._pace * len(raw) * _TIMES_LONGER > SHARE * time:
            return self._compressed_fast(raw)
        if self._until_tried:
            self._until_tried -= 1
            return self._thorough.compress(raw) if self._pays else self._compressed_fast(raw)
        # Both, as chunks differ: the first ones have lists of all entities.
        fast, thorough = self._compressed_fast(raw), self._thorough.compress(raw)
        self._pays, self._until_tried = len(thorough) < _WORTH * len(fast), _LATER
        return min(fast, thorough, key=len)

    def _compressed_fast(self, raw: memoryview) -> bytes:
        begin = thread_time()
        content = self._fast.compress(raw)
        self._pace = (thread_time() - begin) / max(len(raw), 1)
        return content
