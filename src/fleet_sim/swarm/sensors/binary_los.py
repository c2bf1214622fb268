"""A binary line of sight: is anybody straight ahead?"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows, as_float
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.sensors.binary_sensor import BinarySensor, whole
from fleet_sim.swarm.sensors.binary_sensor import distance as as_distance
from fleet_sim.swarm.sensors.search import Candidates, any_hit
from fleet_sim.swarm.vision import in_frame, ray_meets_discs, ray_segment_distances

_WHAT = "BinaryLOSSensor"


class BinaryLOSSensor(BinarySensor):
    """Reads 1 while the line ahead meets the disc of another agent; 0 otherwise.

    Agents whose middle is behind are not seen. The last `history_length` readings are in `history`.
    """

    def __init__(
        self,
        angle: float | None = None,
        draw: bool = True,
        history_length: int = 50,
        width: int = 1,
        distance: float = float("inf"),
        occlusion: bool = False,
        false_positive: float = 0.0,
        false_negative: float = 0.0,
        time_step_between_sensing: int = 1,
        invert: bool = False,
        seed: int | None = None,
        target_team: int | str | None = None,
    ) -> None:
        """`angle`: of the line from the heading, rad, to the left; None: straight ahead. `draw`: draw it. `width`: in
        pixels, at least 1. `history_length`: how many readings to keep.

        `distance`: how far it reaches, to the middle of who is seen, m. `occlusion`: walls end the line.
        `false_positive`, `false_negative`: shares of wrong readings. `time_step_between_sensing`: look at every so many
        steps. `invert`: swap 0 and 1. `seed`: of the wrong readings; None: the world's. `target_team`: detect agents of
        this team only; None: all.
        """
        super().__init__(
            false_positive=false_positive,
            false_negative=false_negative,
            time_step_between_sensing=time_step_between_sensing,
            invert=invert,
            store_history=True,
            show=draw,
            seed=seed,
        )
        self.angle = 0.0 if angle is None else as_float(angle, f"{_WHAT}: angle in rad")
        self.history = type(self.history)(maxlen=whole(history_length, f"{_WHAT}: history_length", 1))
        self.width = whole(width, f"{_WHAT}: width", 1)
        self.distance = as_distance(distance, f"{_WHAT}: distance")
        self.occlusion = occlusion
        self.target_team = target_team

    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) have somebody on their line."""
        looks = group.headings + self.angle
        cosines, sines = np.cos(looks), np.sin(looks)
        origins = group.positions
        candidates = Candidates(group, group.world.team_code(self.target_team))
        limits = self._wall_distances(group, origins, cosines, sines)

        def met(agent: Rows, candidate: Rows) -> Bools:
            ahead, aside = in_frame(
                candidates.positions[:, 0].take(candidate) - origins[:, 0].take(agent),
                candidates.positions[:, 1].take(candidate) - origins[:, 1].take(agent),
                cosines.take(agent),
                sines.take(agent),
            )
            mask = ray_meets_discs(ahead, aside, candidates.radii.take(candidate)) & (ahead <= self.distance)
            if limits is not None:
                mask &= ahead <= limits.take(agent)
            return mask

        return any_hit(origins, candidates, self.distance, met)

    def outlines(self, group: Group) -> Floats | None:
        """Return the lines (N, 2, 2) in the world frame; None where they are not to be drawn."""
        if not self.show:
            return None
        looks = group.headings + self.angle
        length = min(self.distance, float(np.hypot(*group.world.size)))
        ends = group.positions + length * np.stack((np.cos(looks), np.sin(looks)), axis=1)
        return np.stack((group.positions, ends), axis=1)

    def _wall_distances(self, group: Group, origins: Floats, cosines: Floats, sines: Floats) -> Floats | None:
        """Return how far (N,) each line goes before it meets a wall; None where walls do not count."""
        if not self.occlusion:
            return None
        limits = np.full(len(origins), np.inf)
        for x1, y1, x2, y2 in group.world.walls.tolist():
            begin = np.stack(in_frame(x1 - origins[:, 0], y1 - origins[:, 1], cosines, sines))
            end = np.stack(in_frame(x2 - origins[:, 0], y2 - origins[:, 1], cosines, sines))
            limits = np.minimum(limits, ray_segment_distances(1.0, 0.0, begin, end))
        return limits
