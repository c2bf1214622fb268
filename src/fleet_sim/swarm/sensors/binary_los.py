"""A binary line of sight: whether another agent is straight ahead."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.parameters import documented, unbounded_setting
from fleet_sim.swarm.sensors.binary_sensor import BinarySensor
from fleet_sim.swarm.sensors.search import Candidates, any_hit
from fleet_sim.swarm.vision import in_frame, ray_meets_discs, ray_segment_distances


@documented
@dataclass(eq=False, repr=False)
class BinaryLOSSensor(BinarySensor):
    """Reads 1 while the line ahead meets the disc of another agent; 0 otherwise.

    Agents whose centre is behind are not detected. The last `history_length` readings are in `history`.
    """

    per_square = ("angle", "distance")
    follows = (*BinarySensor.follows, "history")

    angle: float | None = setting(
        None, unit="rad", doc="Angle of the line to the left of the heading; null: straight ahead."
    )
    draw: bool = setting(True, doc="Draw the sensor.")
    history_length: int = setting(50, low=1, high=10**9, doc="Number of readings to keep.")
    width: int = setting(1, low=1, unit="pixels", doc="Width of the drawn line.")
    distance: float = unbounded_setting(float("inf"), "Range, measured to the centre of the detected agent.", unit="m")
    occlusion: bool = setting(False, doc="Walls end the line.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self.store_history = True
        self.history = deque(maxlen=self.history_length)

    @property
    def serves_squares(self) -> bool:
        """Whether one object like this can serve several worlds: where walls do not end the line."""
        return super().serves_squares and not self.occlusion

    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) have somebody on their line."""
        # None for RobotSwarmSimulator's files, where it means straight ahead.
        looks = group.headings + (0.0 if self.angle is None else self.angle)
        sines, cosines = trig.sin_cos(looks)
        reach = np.asarray(self.distance)
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
            # As far as the middle, as the range is measured, although the disc begins nearer.
            mask = ray_meets_discs(ahead, aside, candidates.radii.take(candidate)) & (
                ahead <= (reach.take(agent) if reach.ndim else reach)
            )
            # A disc whose middle is behind a wall is hidden, even where its rim stands out.
            if limits is not None:
                mask &= ahead <= limits.take(agent)
            return mask

        return any_hit(origins, candidates, float(reach.max()), met)

    def outlines(self, group: Group) -> Floats | None:
        """Return the lines (N, 2, 2) in the world frame; None where they are not to be drawn."""
        if not self.show:
            return None
        looks = group.headings + (self.angle or 0.0)
        length = min(self.distance, float(trig.hypot(*group.world.size)))
        ends = group.positions + length * np.stack(trig.sin_cos(looks)[::-1], axis=1)
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
