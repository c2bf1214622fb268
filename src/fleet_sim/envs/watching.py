"""Environments that people watch: render_mode "human" is the live view in the browser."""

from __future__ import annotations

from fleet_sim.simulation import MultiRobotSimulationCore

HUMAN, PICTURES = "human", "rgb_array"
RENDER_MODES = [HUMAN, PICTURES]


def show_to_people(sim: MultiRobotSimulationCore, mode: str | None) -> None:
    """With the mode "human", show `sim` in the browser until it is closed, and print the address.

    It goes at the pace of whoever makes the steps. Raises MissingDependencyError without the extra `view`.
    """
    if mode == HUMAN:
        view = sim.view.show(browser=True)
        print(f"view: {view.url}", flush=True)
