"""Outcome: what a run came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fleet_sim.traffic.figures import Run

Progress = Callable[[float, float, int], None]
"""Called now and then with the simulated time, its end in s, and the tasks done so far."""


@dataclass(frozen=True)
class Outcome:
    """The figures of a run with everything else for its file; `stopped` says whether it was ended early by Ctrl-C.

    `refusal` is the reason of the last plan that was not driven, "" where all were.
    """

    run: Run
    stopped: bool = False
    refusal: str = ""
