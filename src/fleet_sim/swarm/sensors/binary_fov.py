"""A binary field of view: whether another agent is in a sector of a circle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows, as_floats
from fleet_sim.settings import setting
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.compiled_views import Views, seen_in_views, views_of
from fleet_sim.swarm.parameters import documented, unbounded_setting
from fleet_sim.swarm.sensors.binary_sensor import BinarySensor
from fleet_sim.swarm.sensors.search import Candidates, any_hit, visible
from fleet_sim.swarm.unicycle import look
from fleet_sim.swarm.vision import Sector, in_frame, least

_ARC = 12

FEW_PAIRS = 64
"""Number of pairs of agents up to which plain numbers, one pair after the other, are faster than arrays."""


_VIEWS: WeakKeyDictionary[BinaryFOVSensor, tuple[Sector, float | Floats, Views]] = WeakKeyDictionary()
"""Sectors as compiled code takes them, with what they were made from; not in the sensors, which are saved."""


def read_walls(value: object) -> Floats | bool | None:
    """Return what was given, two opposite corners as the sides (4, 4) of their rectangle; raises ValueError."""
    # An array of this shape are sides already: settings are read again when an agent is copied.
    if value is None or isinstance(value, bool) or (isinstance(value, np.ndarray) and value.shape == (4, 4)):
        return value
    return _sides(value)


def _sides(corners: object) -> Floats:
    (x1, y1), (x2, y2) = as_floats(corners, (2, 2), "corners").tolist()
    return np.array([(x1, y1, x2, y1), (x2, y1, x2, y2), (x2, y2, x1, y2), (x1, y2, x1, y1)])


@documented
@dataclass(eq=False, repr=False)
class BinaryFOVSensor(BinarySensor):
    """Reads 1 while the disc of another agent, or a wall, reaches into a sector ahead; 0 otherwise.

    The sector opens `theta` rad to both sides of the heading turned by `bias`, and is `distance` m deep.
    """

    per_square = ("theta", "distance", "bias", "wall_sensing_range", "goal_sensing_range")

    theta: float = setting(
        10.0, low=0, unit="rad", doc="Half of the opening angle; pi and more, as by default, covers all directions."
    )
    distance: float = unbounded_setting(100.0, "How deep the sector is.", unit="m")
    bias: float = setting(0.0, unit="rad", doc="Angle of the sector's axis to the left of the heading.")
    walls: Floats | bool | None = setting(
        None,
        reader=read_walls,
        schema={"type": ["boolean", "array", "null"]},
        doc="Null: those the world makes detectable; true: all; false: none; two corners: sides of a rectangle.",
    )
    goal_sensing_range: float = unbounded_setting(10.0, "How far goals are seen.", unit="m")
    wall_sensing_range: float = unbounded_setting(10.0, "How far walls are seen, and not beyond `distance`.", unit="m")
    detect_goal_with_added_state: bool = setting(False, doc="Read 2 while a goal in range is in the sector.")
    store_history: bool = setting(False, doc="Keep the last readings in `history`.")
    show: bool = setting(True, doc="Draw the sensor.")
    occlusion: bool = setting(False, doc="Walls, and with a `target_team` other agents, hide what is behind them.")
    draw: bool | None = setting(None, doc="Another name of `show`; null: as that says.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._sector: Sector | None = None

    @property
    def serves_squares(self) -> bool:
        """Whether one object like this can serve several worlds: where nothing hides what is behind it."""
        return super().serves_squares and not self.occlusion

    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) have somebody, or a wall, in their sector."""
        walls = self._detectable_walls(group)
        if group.columns.compiled and not self.occlusion:
            seen_mask = seen_in_views(group, self._views_now(len(group)), group.world.team_code(self.target_team))
            if seen_mask is not None:
                return seen_mask | self._see_walls(group, walls) if len(walls) else seen_mask
        plain = group.world.squares == 1 and not self.occlusion and not len(walls)
        # Neither hiding nor walls: what is left can be said about a pair of agents alone.
        if plain and len(group) * len(group.world.population) <= FEW_PAIRS:
            return self._see_few(group)
        team = group.world.team_code(self.target_team)
        candidates = Candidates(group, team)
        if candidates.nobody and not len(walls):
            return np.zeros(len(group), np.bool_)
        origins, cosines, sines = self._frames(group)
        blockers = Candidates(group) if self.occlusion and team >= 0 else None
        sector = self._sector_now()
        origin_x, origin_y = np.ascontiguousarray(origins[:, 0]), np.ascontiguousarray(origins[:, 1])
        place_x = np.ascontiguousarray(candidates.positions[:, 0])
        place_y = np.ascontiguousarray(candidates.positions[:, 1])

        def seen(agent: Rows, candidate: Rows) -> Bools:
            ahead, aside = in_frame(
                place_x.take(candidate) - origin_x.take(agent),
                place_y.take(candidate) - origin_y.take(agent),
                cosines.take(agent),
                sines.take(agent),
            )
            mask = sector.of(agent).sees_discs(ahead, aside, candidates.radii.take(candidate))
            if self.occlusion:
                some = mask.nonzero()
                # Looking along lines is the slow part, so only for who is in the sector at all.
                agent, candidate = (np.broadcast_to(index, mask.shape)[some] for index in (agent, candidate))
                mask[some] = self._in_sight(group, candidates, blockers, agent, candidate)
            return mask

        reach = float(np.max(self.distance)) + (float(candidates.radii.max()) if len(candidates) else 0.0)
        detected = any_hit(origins, candidates, reach, seen)
        return detected | self._see_walls(group, walls) if len(walls) else detected

    def _see_walls(self, group: Group, walls: Floats) -> Bools:
        """Return which agents (N,) have one of `walls` (W, 4) in their sector."""
        sector = Sector(self.theta, least(self.wall_sensing_range, self.distance))
        return _walls_seen(sector, *self._frames(group), walls)

    def _see_few(self, group: Group) -> Bools:
        """Return which agents (N,) have somebody in their sector, by looking at one after the other."""
        columns, everyone = group.columns, group.world.everyone
        team, sector = group.world.team_code(self.target_team), self._sector_now()
        places, radii = columns.position.take(everyone.rows, axis=0).tolist(), everyone.radii.tolist()
        others = list(zip(everyone.rows.tolist(), places, radii, everyone.teams.tolist(), strict=True))

        # Plain functions of numbers, with the same operations in the same order as those on arrays: equal to the bit.
        def sees(row: int) -> bool:
            x, y, _ = columns.position[row].tolist()
            sine, cosine = trig.sin_cos_of(quaternions.yaw_of(columns.orientation, row) + self.bias)
            for other, (place_x, place_y, _), radius, side in others:
                if other != row and team in (-1, side):
                    ahead, aside = in_frame(place_x - x, place_y - y, cosine, sine)
                    if sector.sees_disc(ahead, aside, radius):
                        return True
            return False

        return np.array([sees(row) for row in group.rows.tolist()], np.bool_)

    def added_state(self, group: Group) -> Bools | None:
        """Return which agents (N,) have a goal in their sector; None unless goals are an added state."""
        if not self.detect_goal_with_added_state:
            return None
        origins, cosines, sines = self._frames(group)
        sector = Sector(self.theta, self.goal_sensing_range)
        seen_mask = np.zeros(len(group), bool)
        for goal in group.world.goals:
            ahead, aside = in_frame(goal.centre[0] - origins[:, 0], goal.centre[1] - origins[:, 1], cosines, sines)
            seen_mask |= sector.sees_discs(ahead, aside, goal.radius)
        return seen_mask

    def outlines(self, group: Group) -> Floats | None:
        """Return the sectors (N, K, 2) in the world frame; None where they are not to be drawn.

        A sector deeper than the world is drawn as deep as that.
        """
        if not self.show:
            return None
        half = min(self.theta, math.pi)
        angles = group.headings[:, None] + self.bias + np.linspace(-half, half, _ARC)
        # Deeper than the world's diagonal there is nothing, and infinity cannot be drawn.
        depth = min(self.distance, float(trig.hypot(*group.world.size)))
        arcs = group.positions[:, None, :] + depth * np.stack(trig.sin_cos(angles)[::-1], axis=2)
        # A full circle has no corner at the agent.
        if half >= math.pi:
            return np.asarray(arcs)
        return np.concatenate((group.positions[:, None, :], arcs), axis=1)

    def _sector_now(self) -> Sector:
        """Return the sector: of many worlds, its edges are computed once for all steps."""
        known = self._sector
        # By identity: settings are replaced, not changed in place.
        if known is None or known.half_angle is not self.theta or known.reach is not self.distance:
            known = self._sector = Sector(self.theta, self.distance)
        return known

    def _views_now(self, count: int) -> Views:
        """Return the sectors of `count` agents as compiled code takes them."""
        known, sector = _VIEWS.get(self), self._sector_now()
        if known is None or known[0] is not sector or known[1] is not self.bias or len(known[2].reach) != count:
            known = _VIEWS[self] = sector, self.bias, views_of(sector, self.bias, count)
        return known[2]

    def _frames(self, group: Group) -> tuple[Floats, Floats, Floats]:
        """Return positions (N, 2), and cosines and sines (N,) of where the agents look."""
        if group.columns.compiled:
            angles, sines = np.full(len(group.rows), self.bias), np.empty(len(group.rows))
            look(group.rows, group.columns.orientation, angles, sines)
            return group.positions, angles, sines
        looks = group.headings + self.bias
        sines, cosines = trig.sin_cos(looks)
        return group.positions, cosines, sines

    def _detectable_walls(self, group: Group) -> Floats:
        if self.walls is None:
            return group.world.detectable_walls
        if isinstance(self.walls, bool):
            return group.world.walls if self.walls else np.empty((0, 4))
        return self.walls

    def _in_sight(
        self, group: Group, candidates: Candidates, blockers: Candidates | None, agent: Rows, candidate: Rows
    ) -> Bools:
        """Return which candidates (K,) agents (K,) see past walls and `blockers`."""
        return visible(
            group.positions[agent],
            candidates.positions[candidate],
            group.world.walls,
            blockers,
            (group.rows[agent], candidates.rows[candidate]),
        )


def _walls_seen(sector: Sector, origins: Floats, cosines: Floats, sines: Floats, walls: Floats) -> Bools:
    seen_mask = np.zeros(len(origins), bool)
    for x1, y1, x2, y2 in walls.tolist():
        begin = np.stack(in_frame(x1 - origins[:, 0], y1 - origins[:, 1], cosines, sines))
        end = np.stack(in_frame(x2 - origins[:, 0], y2 - origins[:, 1], cosines, sines))
        # A distance to a wall outside of the sector is infinite.
        seen_mask |= np.isfinite(sector.segment_distances(begin, end))
    return seen_mask
