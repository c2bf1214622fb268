"""The progress of a swarm world, as what is called after each of its steps."""

from __future__ import annotations

from fleet_sim.apps.cli.arguments import ProgressBar
from fleet_sim.swarm.swarm_world import Subscriber, SwarmWorld


class ShownProgress(Subscriber):
    """Shows the steps of a world in `line`."""

    def __init__(self, line: ProgressBar) -> None:
        self._line = line

    def step(self, world: SwarmWorld) -> None:
        """Show how many steps were made."""
        self._line.show(world.steps)

    def close(self) -> None:
        """Take the line away."""
        self._line.close()
