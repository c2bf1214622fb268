"""ViewParams: the settings of a live view."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.settings import Checked, setting

LARGEST_PORT = 65_535
HIGHEST_RATE = 20.0
"""In Hz; faster than this nobody sees a difference, and each picture is sent to every browser."""


@dataclass(frozen=True)
class ViewParams(Checked):
    """Where a live view is served, how often it is brought up to date, and what it allows."""

    host: str = setting(
        "127.0.0.1",
        doc="Address to serve at. 127.0.0.1: this machine only; with any other address the URL contains a secret.",
    )
    port: int = setting(8080, low=0, high=LARGEST_PORT, doc="Port; if taken, the next free one. 0: any free port.")
    rate: float = setting(
        HIGHEST_RATE, above=0, high=HIGHEST_RATE, unit="Hz", doc="Pictures per second of real time, at most."
    )
    read_only: bool = setting(False, doc="Pages can only watch, not change anything.")
    spawning: bool = setting(True, doc="Whether the page may spawn and remove robots and objects.")
    browser: bool = setting(False, doc="Open the page in a browser, if there is a display.")
