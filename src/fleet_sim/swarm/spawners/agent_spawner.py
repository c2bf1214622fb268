"""The base of spawners: when they spawn, how many agents, with which headings, and where there is room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.errors import InvalidValueError, did_you_mean
from fleet_sim.gate.bounds import MOST_ALIKE
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.parameters import Configured, choice_setting, documented
from fleet_sim.swarm.spawners.room import Room
from fleet_sim.swarm.swarm_world import Spawner, SwarmWorld

Facing = float | tuple[float, float] | Literal["towards", "away", "random"] | None

MODES = ("oneshot", "repeat")
WAYS = ("towards", "away", "random")
MOST_ROUNDS = 200
"""Largest number of times that overlapping positions are drawn again."""
AT_TARGET = 1e-6
"""Distance in m below which a point has no direction to look in, and the heading is drawn."""
MANY = 1000
"""Number of random positions from which on their box shows the size of the region."""


def read_facing(value: object) -> Facing:
    """Return which way agents look; raises ValueError for anything but a number, a point or one of `WAYS`."""
    if value is None:
        return None
    if isinstance(value, str):
        if value not in WAYS:
            raise ValueError(f"unknown way {value!r}.{did_you_mean(value, WAYS)}")
        return value  # type: ignore[return-value]  # it is one of `WAYS`
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) == 1:
            return as_float(value[0], "angle in rad")
        x, y = as_floats(value, (2,), "point").tolist()
        return x, y
    return as_float(value, "angle in rad")


@documented
@dataclass(eq=False, repr=False)
class AgentSpawner(Configured, Spawner):
    """Spawns `n` agents of one configuration, at positions that a subclass chooses in `choose_positions`.

    `mode` "oneshot" spawns once, after `delay`; "repeat" again every `interval`, `times` times. With `avoid_overlap`
    agents are not spawned on top of others: where there is no room that is an error, or with `crowding` "push" they are
    pushed apart, out of the region too, as far as the world has room. Random numbers come from the world's seed, or
    from `seed`.
    """

    world: SwarmWorld = setting(reader=lambda world: world, schema={}, doc="The world into which agents are spawned.")
    agent: Any = setting(doc="Configuration of the agents, or an agent made in code that they are copies of.")
    n: int = setting(1, low=0, high=MOST_ALIKE, doc="Number of agents.")
    facing: Facing = setting(
        None,
        reader=read_facing,
        schema={"anyOf": [{"type": ["number", "null"]}, {"type": "array"}, {"enum": WAYS}]},
        doc="A heading in rad, a point to look at, towards or away from the middle of the positions (drawn for who is"
        " there), or random; null: the agent's own angle.",
    )
    avoid_overlap: bool = setting(False, doc="Do not spawn agents that overlap others.")
    crowding: str = choice_setting(
        "error", ("error", "push"), "With avoid_overlap: draw places until all have room, or push them apart."
    )
    seed: int | None = setting(None, low=0, doc="Seed of the draws; null: the world's.")
    mode: str = choice_setting("oneshot", MODES, "Once, or again and again.")
    delay: float = setting(0.0, low=0, unit="s", doc="Time before the first agents.")
    interval: float = setting(1.0, low=0, unit="s", doc="Time between two repetitions, with mode repeat.")
    times: int | None = setting(None, low=1, doc="Number of repetitions, with mode repeat; null: unlimited.")
    oneshot: bool = setting(False, doc="Same as mode oneshot, the default.")

    # Whether positions are drawn at random, so that others can be drawn where there is no room. No parameter.
    chosen_freely = True
    # Whether the agent's own position counts. No parameter.
    uses_own_position = False

    def __post_init__(self) -> None:
        """Check what was given; raises InvalidValueError, and what the world says about the agent."""
        super().__post_init__()
        self.recipe = self.world.recipe(self.agent)
        if not self.uses_own_position and self._agent_has_position:
            raise self.refuse("agent.position: this spawner chooses the positions of its agents; leave it out")
        if self.oneshot and self.mode != "oneshot":
            raise self.refuse(f"oneshot: true does not go with mode {self.mode!r}; leave one of them out")
        self.oneshot = self.mode == "oneshot" and self.delay == 0.0
        # A stream of its own for each spawner: another one before it does not change its draws.
        self._purpose = self.world.new_names(None, "spawner", 1)[0]
        self._own_rng = None if self.seed is None else np.random.Generator(np.random.PCG64(self.seed))
        self._due = self.world.steps + self.world.sim.clock.ticks(self.delay)
        self._spawned = 0

    @property
    def _agent_has_position(self) -> bool:
        """Whether the settings of the agents say where they are; an agent made in code is always somewhere."""
        return self.recipe.config.position is not None and not isinstance(self.agent, SwarmAgent)

    @property
    def rng(self) -> np.random.Generator:
        """Where draws come from."""
        return self._own_rng or self.world.rng(self._purpose)

    @property
    def middle(self) -> Floats:
        """The middle (2,) of the positions, for "towards" and "away"."""
        raise NotImplementedError

    def choose_positions(self, count: int) -> Floats:
        """Return `count` positions (count, 2)."""
        raise NotImplementedError

    def step(self) -> None:
        """Spawn where that is due in this step."""
        if self.world.steps < self._due:
            return
        self._spawned += 1
        if self.mode == "repeat":
            self._due += max(1, self.world.sim.clock.ticks(self.interval))
        done = self.mode == "oneshot" or (self.times is not None and self._spawned >= self.times)
        self.mark_for_deletion = self.mark_for_deletion or done
        # Last, as it may raise: what has no room is not drawn again in each step.
        self.spawn()

    def spawn(self) -> None:
        """Spawn `n` agents now. Raises InvalidValueError where `avoid_overlap` leaves no room for them.

        An `agent` made in code is copied as it is now, with the controller and the sensors it has by now.
        """
        if not self.n:
            return
        if isinstance(self.agent, SwarmAgent):
            self.recipe = self.world.recipe(self.agent)
        positions = self._free_positions() if self.avoid_overlap else self.choose_positions(self.n)
        self.world.spawn_many(self.recipe, positions, self._headings(positions))

    # ---- which way they look -----------------------------------------------------------------------------------------

    def _headings(self, positions: Floats) -> Floats:
        """Return the headings (N,) in rad of agents at `positions` (N, 2), as `facing` says."""
        facing = self.facing
        if facing == "random":
            return self.rng.uniform(-np.pi, np.pi, len(positions))
        if facing is None or isinstance(facing, float):
            return np.full(len(positions), self.recipe.config.angle if facing is None else facing)
        target = self.middle if isinstance(facing, str) else np.array(facing)
        x, y = (target - positions).T
        headings: Floats = trig.arctan2(-y, -x) if facing == "away" else trig.arctan2(y, x)
        there = np.flatnonzero(trig.hypot(x, y) < AT_TARGET)
        if len(there):
            headings[there] = self.rng.uniform(-np.pi, np.pi, len(there))
        return headings

    # ---- room --------------------------------------------------------------------------------------------------------

    def _free_positions(self) -> Floats:
        """Return positions where a disc of the agent's radius overlaps neither another one nor those there already."""
        world, radius = self.world, self.recipe.config.disc
        rows = world.collidable_rows
        size = world.size if world.config.collide_walls else None
        room = Room(world.columns.position[rows, :2], world.swarm.agent_radius[rows], size)
        if self.crowding == "push":
            drawn = self.choose_positions(self.n)
            # As below: that many on top of each other would take minutes.
            if self.n < MANY or not _is_too_full(drawn, radius):
                return room.pushed_apart(drawn, radius)
        chosen = np.empty((0, 2))
        for _ in range(MOST_ROUNDS if self.chosen_freely else 1):
            # What fits is kept; only the rest is drawn again.
            drawn = np.concatenate((chosen, self.choose_positions(self.n - len(chosen))))
            if self.chosen_freely and self.n >= MANY and _is_too_full(drawn, radius):
                # Comparing all with all would take minutes, and for larger numbers all memory.
                break
            chosen = drawn[room.free_mask(drawn, radius)]
            if len(chosen) == self.n:
                return chosen
        raise InvalidValueError(
            f"{type(self).__name__}: found room for {len(chosen)} of {self.n} agents of radius {radius:g} m; make the"
            " region larger, set crowding to push, or avoid_overlap to false"
        )


def _is_too_full(positions: Floats, radius: float) -> bool:
    """Return whether discs at `positions` have more area than the box around them: no other positions there will do."""
    lower, upper = positions.min(axis=0) - radius, positions.max(axis=0) + radius
    return bool(len(positions) * np.pi * radius * radius > np.prod(upper - lower))
