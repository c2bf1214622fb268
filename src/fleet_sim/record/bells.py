"""What a run and the process that writes its recording say to each other, besides the records in the ring."""

from __future__ import annotations

import struct
from dataclasses import dataclass

BELL = struct.Struct("<qq")
"""To the process that writes: up to where there are records, and wishes."""
ASK, FINISH = 1, 2
"""Wishes: an answer when half of the ring is free; the file whole."""
ANSWER = struct.Struct("<qq")
"""From it: a kind, and a number."""
TAKEN, FAILED, FINISHED = 0, 1, 2
"""Kinds: up to where records were taken; how many bytes of a pickled WritingFailure follow; the file has its name."""


@dataclass(frozen=True)
class WritingFailure:
    """Why nothing more is written; `kept` tells whether what was written before is there."""

    reason: str
    traceback: str
    kept: bool
