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
        doc="Address to serve at: 127.0.0.1 is for this machine only; any other one puts a secret into the URL.",
    )
    port: int = setting(8080, low=0, high=LARGEST_PORT, doc="Port, or the first free one after it; 0: any.")
    rate: float = setting(
        HIGHEST_RATE, above=0, high=HIGHEST_RATE, unit="Hz", doc="Pictures per second of real time, at most."
    )
    read_only: bool = setting(False, doc="Only look: whoever opens the page can change nothing.")
    spawning: bool = setting(True, doc="Whether the page may spawn and remove robots and objects.")
    browser: bool = setting(False, doc="Open the page in a browser, where there is a display.")
