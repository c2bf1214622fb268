"""Boids: flocks from separation, alignment and cohesion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.compiled_flock import Flock, Helm, Wishes, flock, look, steer
from fleet_sim.swarm.neighbours import cells_of, counts, near_in_crowd, sums
from fleet_sim.swarm.parameters import Configured, documented, team_setting
from fleet_sim.swarm.unicycle import steered


@documented
@dataclass(eq=False, repr=False)
class BoidsController(Configured, Controller):
    """Steers by separation from close neighbours, and alignment and cohesion with visible ones.

    After Reynolds, "Flocks, Herds, and Schools: A Distributed Behavioral Model" (1987). With neighbours j at offsets
    d_j: separation is the sum of -d_j / |d_j| (s / |d_j| - 1) over those nearer than s; alignment the neighbours' mean
    velocity over `speed`, minus the own heading; cohesion their mean offset over the reach. The agent turns towards
    its own heading plus the weighted terms and the repulsion of near walls. It drives at `speed`, slower in turns.
    """

    speed: float = setting(0.5, low=0, unit="m/s", doc="Speed when driving straight.")
    max_turn: float = setting(3.0, low=0, unit="rad/s", doc="Limit of the angular velocity.")
    reach: float = setting(1.0, low=0, unit="m", doc="Distance up to which neighbours are visible.")
    separation_distance: float = setting(0.3, low=0, unit="m", doc="Distance below which neighbours repel.")
    separation: float = setting(1.0, low=0, doc="Weight of separation from close neighbours.")
    alignment: float = setting(1.0, low=0, doc="Weight of alignment with the velocity of neighbours.")
    cohesion: float = setting(1.0, low=0, doc="Weight of cohesion with the positions of neighbours.")
    wall_distance: float = setting(0.5, low=0, unit="m", doc="Distance below which walls repel.")
    walls: float = setting(2.0, low=0, doc="Weight of the repulsion of walls.")
    min_speed: float = setting(0.5, low=0, high=1, doc="Smallest fraction of the speed while turning.")
    turn_gain: float = setting(4.0, low=0, unit="1/s", doc="Angular velocity per rad of bearing.")
    target_team: int | str | None = team_setting("Consider only this team")

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        if group.columns.compiled:
            found = self._act_compiled(group)
            if found is not None:
                return found
        positions, headings = group.positions, group.headings
        crowd = group.world.everyone
        own_y, own_x = trig.sin_cos(headings)
        wish_x, wish_y = own_x.copy(), own_y.copy()
        # Pairs in order of owner and neighbour, so that sums are the same bit for bit in each run.
        owner, other = near_in_crowd(group, self.reach, group.world.team_code(self.target_team))
        if len(owner):
            flock_x, flock_y = self._flock(positions, crowd, owner, other, (own_x, own_y))
            wish_x += flock_x
            wish_y += flock_y
        push_x, push_y = wall_push(positions, group.world.walls, self.wall_distance)
        wish_x += self.walls * push_x
        wish_y += self.walls * push_y
        # The bound is for three wishes that cancel out: then there is no direction, and no speed.
        scale = self.speed / np.maximum(np.sqrt(wish_x * wish_x + wish_y * wish_y), 1e-12)
        actions = steered(
            headings,
            wish_x * scale,
            wish_y * scale,
            top_speed=self.speed,
            turn_gain=self.turn_gain,
            top_turn=self.max_turn,
        )
        # Never slower than this in a turn: an agent at rest would lose its heading, and the flock its shape.
        actions[:, 0] = np.maximum(actions[:, 0], self.min_speed * self.speed)
        return actions

    def _act_compiled(self, group: Group) -> Floats | None:
        """Return the same as `act` without it, by compiled code; None where it is for arrays."""
        crowd, positions, count = group.world.everyone, group.positions, len(group.rows)
        others = positions if crowd.rows is group.rows else crowd.positions
        cells = cells_of(positions, self.reach, others, compiled=True)
        if cells is None:
            return None
        headings, own_x, own_y = np.empty((3, count))
        look(group.rows, group.columns.orientation, headings, own_x, own_y)
        wishes = Wishes(
            float(self.separation),
            self.cohesion / max(self.reach, 1e-12),
            float(self.alignment),
            self.alignment / max(self.speed, 1e-12),
            float(self.separation_distance),
            float(self.reach),
            group.world.team_code(self.target_team),
        )
        everybody = Flock(crowd.rows, others, np.ascontiguousarray(crowd.velocities), crowd.teams)
        found, actions = np.empty((2, count)), np.empty((count, 2))
        flock(group.rows, own_x, own_y, everybody, cells, np.empty((count, 8)), wishes, found)
        push_x, push_y = wall_push(positions, group.world.walls, self.wall_distance)
        slowest = float(self.min_speed * self.speed)
        helm = Helm(float(self.speed), slowest, float(self.turn_gain), float(self.max_turn), float(self.walls))
        return actions if steer(headings, own_x, own_y, found, push_x, push_y, helm, actions) else None

    def _flock(
        self, positions: Floats, crowd: Any, owner: Rows, other: Rows, own: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Return the weighted sum (x, y), each (N,), of the three wishes."""
        count = len(positions)
        others, velocities = crowd.positions, crowd.velocities
        x = others[:, 0].take(other) - positions[:, 0].take(owner)
        y = others[:, 1].take(other) - positions[:, 1].take(owner)
        number = counts(owner, count)
        # Who sees nobody is divided by 1; the sums are 0 then.
        many = np.maximum(number, 1)
        distances = np.sqrt(x * x + y * y)
        near = np.flatnonzero(distances < self.separation_distance)
        # Neighbours in the very same place have no direction to flee from; the bound keeps it finite.
        gaps = np.maximum(distances.take(near), 1e-9)
        push = self.separation_distance / gaps - 1.0
        near_owner = owner.take(near)
        # The bounds are for a reach and a speed of 0, where no neighbour is seen or nobody moves.
        pull = self.cohesion / max(self.reach, 1e-12)
        scale = self.alignment / max(self.speed, 1e-12)
        out = []
        for axis, offsets, course in ((0, x, own[0]), (1, y, own[1])):
            away = -sums(near_owner, offsets.take(near) / gaps * push, count)
            toward = sums(owner, offsets, count) / many
            along = sums(owner, velocities[:, axis].take(other), count) / many
            change = np.where(number > 0, along * scale - self.alignment * course, 0.0)
            out.append(self.separation * away + pull * toward + change)
        return out[0], out[1]


def wall_push(positions: Floats, walls: Floats, reach: float) -> tuple[Floats, Floats]:
    """Return (x, y), each (N,): away from `walls` (W, 4) nearer than `reach`, 0 at that distance to 1 at the wall."""
    push_x, push_y = np.zeros(len(positions)), np.zeros(len(positions))
    if reach <= 0.0:
        return push_x, push_y
    x, y = positions[:, 0], positions[:, 1]
    for begin_x, begin_y, end_x, end_y in walls.tolist():
        way_x, way_y = end_x - begin_x, end_y - begin_y
        # A wall of length 0 is its point; 1.0 only avoids the division by 0.
        square = way_x * way_x + way_y * way_y or 1.0
        share = np.clip(((x - begin_x) * way_x + (y - begin_y) * way_y) / square, 0.0, 1.0)
        off_x, off_y = x - begin_x - share * way_x, y - begin_y - share * way_y
        distances = np.sqrt(off_x * off_x + off_y * off_y)
        # One factor for size and direction: `off` is as long as the distance, so it is divided out again.
        size = np.maximum(1.0 - distances / reach, 0.0) / np.maximum(distances, 1e-9)
        push_x += off_x * size
        push_y += off_y * size
    return push_x, push_y
