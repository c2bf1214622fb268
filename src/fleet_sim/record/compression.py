"""ChunkCompressor: compresses chunks the better, the more time there is."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import thread_time
from typing import TYPE_CHECKING

from fleet_sim.errors import missing_extra

if TYPE_CHECKING:
    from zstandard import ZstdCompressor

_FAST = 2
"""A level of zstd: half the time of its own default, 3, and nothing larger, as messages repeat those before them."""
_BETTER = {"strategy": 2, "hash_log": 17, "chain_log": 17, "search_log": 1, "min_match": 6, "window_log": 21}
"""A tenth smaller where robots drive along new paths all the time."""
_BEST = {"strategy": 3, "hash_log": 18, "chain_log": 17, "search_log": 4, "min_match": 7, "window_log": 21}
"""A fifth smaller there: as level 7 of zstd, in two thirds of its time. It looks at 16 places for what repeats, which
are seven bytes or more in messages of robots."""
BETTER_SHARE, BEST_SHARE = 0.5, 0.25
"""Of the time in which a chunk was filled, what compressing it so may take of a processor: the run may need both of a
small machine."""
_WORTH = 0.95
"""How small it must become, compared to compressing it fast: where robots drive as they did, little is gained."""
_LATER = 8
"""Chunks until that is looked at again."""


class _Slower:
    """A way to compress better, in a time that is `times_longer`, and whether that is worth it."""

    def __init__(self, compressor: ZstdCompressor, times_longer: float, share: float) -> None:
        self.factor = times_longer / share
        """Of the time that compressing fast takes, to that in which a chunk must at least be filled."""
        self._compressor = compressor
        self._pays, self._until_tried = False, 0

    def compress(self, raw: memoryview, fast: Callable[[memoryview], bytes]) -> bytes:
        """Return `raw` compressed, by `fast` where the last chunk that was compressed by both got hardly smaller."""
        if self._until_tried:
            self._until_tried -= 1
            return self._compressor.compress(raw) if self._pays else fast(raw)
        # Both, as chunks differ: the first ones have lists of all entities.
        contents = fast(raw), self._compressor.compress(raw)
        self._pays, self._until_tried = len(contents[1]) < _WORTH * len(contents[0]), _LATER
        return min(contents, key=len)


class ChunkCompressor:
    """Compresses with zstd and its checksum; for one thread. Releases the interpreter meanwhile.

    A run at hundreds of times real time fills a chunk in hundredths of a second, which is then compressed fast. A run
    with traffic, or in real time, leaves time to compress better, where that is worth it. Raises
    MissingDependencyError without the extra `record`.
    """

    def __init__(self) -> None:
        try:
            from zstandard import ZstdCompressionParameters, ZstdCompressor
        except ModuleNotFoundError as error:
            raise missing_extra("zstandard", "record", "a recording") from error
        # With the checksum of zstd, which takes a third of the time of the one that MCAP has.
        self._fast = ZstdCompressor(_FAST, write_checksum=True)
        better, best = (
            ZstdCompressor(compression_params=ZstdCompressionParameters(**numbers, write_checksum=True))
            for numbers in (_BETTER, _BEST)
        )
        # The best first.
        self._slower = (_Slower(best, 4.0, BEST_SHARE), _Slower(better, 1.5, BETTER_SHARE))
        # In s of processor time for a byte, of the last chunk that was compressed fast.
        self._pace = math.inf

    def compress(self, raw: memoryview, time: float) -> bytes:
        """Return the content `raw` of a chunk compressed, given the `time` in s of real time that filling it took."""
        for way in self._slower:
            if self._pace * len(raw) * way.factor <= time:
                return way.compress(raw, self._compressed_fast)
        return self._compressed_fast(raw)

    def _compressed_fast(self, raw: memoryview) -> bytes:
        begin = thread_time()
        content = self._fast.compress(raw)
        self._pace = (thread_time() - begin) / max(len(raw), 1)
        return content
