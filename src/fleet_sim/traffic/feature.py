"""The key `traffic` of a spawn entry, which `setup.cfg` declares: robots that take part as soon as they are spawned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleet_sim.arrays import AnyArray, Rows
from fleet_sim.core.features import FAULTS, Feature, FeatureHost
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError
from fleet_sim.traffic.columns import BROKEN, TrafficColumns
from fleet_sim.traffic.settings import TrafficRobotSettings
from fleet_sim.traffic.traffic import Traffic

NAME = "traffic"


class TrafficBooth:
    """The place of the traffic in a simulation, there before the traffic itself: robots are spawned first."""

    def __init__(self, world: World) -> None:
        self.traffic: Traffic | None = None
        self.announced = False
        """Whether a section of the scenario will open a traffic when its robots are spawned."""
        self._world = world
        self._wishes: dict[int, bool] = {}

    def wishes(self, row: int) -> bool | None:
        """Return what the entry of a robot says that was spawned before there was a traffic; None: nothing."""
        return self._wishes.get(int(self._world.object_id[row]))

    def open(self, traffic: Traffic) -> None:
        """Let robots with the key take part in `traffic` from now on."""
        self.traffic, self.announced = traffic, False

    def close(self) -> None:
        """Hear that there is no traffic any more."""
        self.traffic = None
        self._wishes.clear()

    def enter(self, rows: Rows, wanted: bool) -> None:
        """Let robots in `rows` take part, or not; raises InvalidValueError, and then enrols none."""
        world, traffic = self._world, self.traffic
        if traffic is None and not self.announced and wanted:
            raise InvalidValueError(
                "there is no traffic to take part in; add a section 'traffic', or call offer_traffic before"
            )
        if traffic is None:
            self._wishes.update(dict.fromkeys(world.object_id[rows].tolist(), wanted))
        elif wanted:
            traffic.enroll([world.handles[row] for row in rows.tolist()])


class TrafficFeature(Feature[TrafficRobotSettings, TrafficColumns]):
    """Robots that take part in the traffic: `traffic:` in a spawn entry, at any time."""

    doc = "Whether it takes part in the traffic of the site."
    settings = TrafficRobotSettings
    table = TrafficColumns
    # To a node. Nobody clicks one to the millimetre.
    goal_tolerance = 10.0

    def values(self, settings: TrafficRobotSettings) -> Mapping[str, Any]:
        """Return what is wished for; `enter` does it."""
        return {"wanted": settings.takes_part}

    def start(self, host: FeatureHost, table: TrafficColumns) -> TrafficBooth:
        """Return the place of the traffic."""
        return TrafficBooth(host.world)

    def enter(self, part: TrafficBooth, table: TrafficColumns, rows: Rows) -> None:
        """Enrol robots that stand at nodes; raises InvalidValueError with the reason for others."""
        # Who takes part has a way, if only of the node it stands on.
        enrolled_mask, wanted_mask = table.length[rows] > 0, table.wanted[rows].copy()
        self.leave(part, table, rows[enrolled_mask & ~wanted_mask])
        others = rows[~enrolled_mask]
        # Nobody takes part, or drives, before it is enrolled.
        table.clear_rows(others)
        for wanted in (True, False):
            chosen = others[wanted_mask[~enrolled_mask] == wanted]
            if len(chosen):
                part.enter(chosen, wanted)

    def leave(self, part: TrafficBooth, table: TrafficColumns, rows: Rows) -> None:
        """Let robots take no part any more."""
        if part.traffic is not None:
            part.traffic.leave([robot for robot in part.traffic.robots if robot.row in rows])

    def report(self, columns: Mapping[str, AnyArray]) -> Mapping[str, AnyArray]:
        """Return which robots have broken down."""
        broken = columns["present"] & (columns["held"] & BROKEN != 0)
        return {"faults": FAULTS["breakdown"] * broken}

    def details(self, table: TrafficColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say how much of its way is ahead, how much of it is granted, and whether it waits."""
        at, waits = int(table.at[row]), ", waits" if table.waiting[row] else ""
        granted = int(table.granted[row]) - at
        return [("way", f"{int(table.length[row]) - 1 - at} nodes, {granted} of them granted{waits}")]


FEATURE = TrafficFeature()
