"""What environments share about a run: what exists only during an episode, and people who watch."""

from __future__ import annotations

from typing import TypeVar

from fleet_sim.errors import InvalidValueError
from fleet_sim.simulation import MultiRobotSimulationCore

Part = TypeVar("Part")


def begun(part: Part | None) -> Part:
    """Return what `reset` has made; raises InvalidValueError before the first reset."""
    if part is None:
        raise InvalidValueError("this needs a running episode; call reset() first")
    return part


HUMAN, PICTURES = "human", "rgb_array"
RENDER_MODES = [HUMAN, PICTURES]


def show_to_people(sim: MultiRobotSimulationCore, mode: str | None) -> None:
    """With the mode "human", show `sim` in the browser until it is closed, and print the address.

    It goes at the pace of whoever makes the steps. Raises MissingDependencyError without the extra `view`.
    """
    if mode == HUMAN:
        view = sim.view.show(browser=True)
        print(f"view: {view.url}", flush=True)
