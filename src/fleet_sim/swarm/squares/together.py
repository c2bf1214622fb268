"""Squares: stepping several worlds together, for searches that evaluate many of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.squares.alike import likeness, why_alone
from fleet_sim.swarm.squares.board_step import BoardStepper, serves_squares
from fleet_sim.swarm.world import RectangularWorld, World_from_config
from fleet_sim.swarm.world_config import WorldConfig

MOST = 256
"""Worlds on one board: beyond this, its arrays leave the processor's cache and nothing is gained."""

Described = RectangularWorld | WorldConfig | Mapping[str, Any] | str | Path


class Squares:
    """Worlds that are stepped together where they can be, with the results of stepping each alone, to the bit.

    Worlds alike stand side by side: those with the same agents, parts and shape, whose numbers may differ. `alone`
    says which worlds have to be stepped one after the other and why, `one_by_one` which parts are asked world by world
    within a common step. Between two calls each of `worlds` is an ordinary world.
    """

    def __init__(self, worlds: Iterable[Described]) -> None:
        """Take worlds, or what describes them; they are set up here. Raises ConfigError, and InvalidValueError."""
        self.worlds = [_world_of(world) for world in worlds]
        if len({id(world) for world in self.worlds}) < len(self.worlds):
            raise InvalidValueError("one world is given twice; make another one from the same configuration")
        for world in self.worlds:
            if not world.is_set_up:
                world.setup()

    @property
    def alone(self) -> dict[int, str]:
        """Why a world would now be stepped alone, by its number from 0; others are stepped together."""
        reasons = {index: why_alone(world) for index, world in enumerate(self.worlds) if not world.stopped}
        found = {index: reason for index, reason in reasons.items() if reason is not None}
        # Only worlds that could be together are on boards at all, so these are left without one like them.
        for indices in self._boards():
            if len(indices) == 1:
                found[indices[0]] = (
                    "no other world is like it: worlds together differ in numbers of their controllers and sensors only"
                )
        return dict(sorted(found.items()))

    @property
    def one_by_one(self) -> list[str]:
        """The classes of controllers and sensors that are asked world by world, sorted."""
        found = set()
        for world in self.worlds:
            for group in world.population_groups:
                if len(group) and not serves_squares(group):
                    parts = [part for part in (group.controller, *group.sensors) if part is not None]
                    found |= {type(part).__name__ for part in parts}
        return sorted(found)

    def evaluate(self, steps: int) -> list[dict[str, float]]:
        """Make up to `steps` steps of each world, fewer where its `stop_at` comes true.

        Returns what `world.evaluate(steps)` returns, for each world: the average of each metric by name.
        """
        boards = [indices for indices in self._boards() if len(indices) > 1]
        together = {index for indices in boards for index in indices}
        for indices in boards:
            for begin in range(0, len(indices), MOST):
                self._step([self.worlds[index] for index in indices[begin : begin + MOST]], steps)
        for index, world in enumerate(self.worlds):
            if index not in together:
                world.evaluate(steps)
        return [dict(metric.out_average() for metric in world.metrics) for world in self.worlds]

    def _boards(self) -> list[list[int]]:
        """Return the numbers of worlds that are alike, for each kind."""
        found: dict[str, list[int]] = {}
        for index, world in enumerate(self.worlds):
            if not world.stopped and why_alone(world) is None:
                found.setdefault(likeness(world), []).append(index)
        return list(found.values())

    def _step(self, worlds: list[RectangularWorld], steps: int) -> None:
        """Make steps of worlds that are alike, until they stop; each is whole again afterwards."""
        stepper = BoardStepper(worlds)
        try:
            # Alike worlds stop in the same step, so the first one speaks for all.
            stepper.run(int(min(steps, worlds[0].steps_to_stop)))
        finally:
            # Also after an exception: worlds are left in a state that can be looked at.
            stepper.finish()
        for world in worlds:
            world.check_stop()

    def close(self) -> None:
        """Close all worlds; may be called again."""
        for world in self.worlds:
            world.close()

    def __enter__(self) -> Squares:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def run_together(worlds: Iterable[Described], steps: int) -> list[dict[str, float]]:
    """Return the average of each metric by name after up to `steps` steps, for each of `worlds`; see `Squares`.

    The worlds are closed at the end.
    """
    with Squares(worlds) as squares:
        return squares.evaluate(steps)


def _world_of(world: Described) -> RectangularWorld:
    return world if isinstance(world, RectangularWorld) else World_from_config(world)
