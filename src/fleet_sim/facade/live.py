"""Live views of a simulation, and where they are found: what shows one is above, and may come from another package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from fleet_sim.config.view_params import ViewParams
from fleet_sim.core.events import EventBus
from fleet_sim.registry import Fit, Registry

DEFAULT = "web"


class LiveView(Protocol):
    """A view of a simulation that goes on while the simulation does."""

    @property
    def url(self) -> str:
        """Where it is seen."""

    def close(self) -> None:
        """End it; may be called again."""


ViewOpener = Callable[[Any, ViewParams], LiveView]
"""Opens a view of a simulation."""

VIEWS: Registry[ViewOpener] = Registry(
    "view", Fit("a function of a simulation and ViewParams", callable), group="fleet_sim.view"
)
"""What shows simulations live, by name."""


def open_view(sim: object, events: EventBus, settings: ViewParams, kind: str = DEFAULT) -> LiveView:
    """Return a new view of `sim`, which ends with it. Raises UnknownNameError, and what the opener raises."""
    view = VIEWS.get(kind)(sim, settings)
    events.on("closed", view.close)
    return view
