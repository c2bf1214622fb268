"""The live view of a simulation or a recording, in the browser. Importing this does not need viser, an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.errors import of_extra
from fleet_sim.base.params import ViewParams

if TYPE_CHECKING:
    from fleet_sim.apps.viewer.source import Source
    from fleet_sim.apps.viewer.view import WebView
    from fleet_sim.simulation import MultiRobotSimulationCore


def open_web_view(sim: MultiRobotSimulationCore, settings: ViewParams) -> WebView:
    """Return a view of `sim` in the browser. Raises MissingDependencyError, and InvalidValueError for the host."""
    check_viser()
    from fleet_sim.apps.viewer.live import LiveSource

    return view_of(LiveSource(sim), settings)


def view_of(source: Source, settings: ViewParams) -> WebView:
    """Return a view of what `source` gives: a simulation, or a recording. Raises as `open_web_view` does."""
    check_viser()
    from fleet_sim.apps.viewer.view import WebView

    return WebView(source, settings)


def check_viser() -> None:
    """Raise MissingDependencyError where viser is not installed."""
    with of_extra("viser", "view", "the live view"):
        import viser  # noqa: F401
