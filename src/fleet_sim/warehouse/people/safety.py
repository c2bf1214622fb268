"""The safety fields of robots: they drive slower near people, and stop before them.

The key `safety` of a robot's entry, which `setup.cfg` declares as a feature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.kernels import compiled
from fleet_sim.base.params import MotionMode
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.attachments import footprint_box, footprint_radius
from fleet_sim.warehouse.people.walking import IN_THE_WAY, Machines
from fleet_sim.warehouse.traffic.columns import TrafficColumns
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.features import FAULTS, Feature, FeatureHost
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.steering import IDLE
from fleet_sim.world.world import FeatureRows, SpeedRule

DIFFERENTIAL = MotionMode.DIFFERENTIAL.value
FASTEST = 1e6
"""Accelerations in m/s2 that count as no limit: such robots stop where they are."""
BESIDE = 0.03
"""In m: people so near to the strip that a robot drives along count as in it."""
CLOSE = 0.01
"""In m: people nearer to the disc that a robot sweeps when it turns keep it from turning."""
NOBODY = -1


@dataclass
class SafetySettings(Checked):
    """The safety fields of a robot: from its footprint, a disc, to people."""

    protective: float = setting(
        0.3,
        low=0.05,
        high=10.0,
        unit="m",
        doc="It stops so far before a person on its way, and stands until it is free.",
    )
    warning: float = setting(
        1.5, low=0.0, high=50.0, unit="m", doc="It is slow with a person so near before it; 0: never."
    )
    slow: float = setting(0.6, above=0.0, high=50.0, unit="m/s", doc="Its speed then.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0.0 < self.warning < self.protective:
            raise InvalidValueError(f"warning: expected at least protective, {self.protective:g} m, or 0")


class SafetyColumns(FeatureColumns):
    """The safety fields of each robot, and whether somebody is in them."""

    protective: Floats = column(float, unit="m", writer="spawning")
    warning: Floats = column(float, unit="m", writer="spawning")
    slow: Floats = column(float, unit="m/s", writer="spawning")
    radius: Floats = column(float, unit="m", writer="Safety", doc="of its footprint", hashed=False)
    halves: Floats = column(float, (2,), unit="m", writer="Safety", doc="of what it sweeps straight on", hashed=False)
    loaded: Bools = column(bool, writer="Safety", doc="it carried something when it was measured", hashed=False)
    before: Floats = column(float, (2,), default=np.nan, unit="m", writer="Safety", doc="where it was a step before")
    limit: Floats = column(float, default=np.inf, unit="m/s", writer="Safety", doc="of this step", hashed=False)
    close: Bools = column(bool, writer="Safety", doc="it must not turn, as somebody is beside it", hashed=False)
    violated: Bools = column(bool, writer="Safety", doc="it stands, as a person is in its protective field")
    stood: Ints = column(np.int64, unit="tick", writer="Safety", doc="how long it stood for people in all")
    slowed: Ints = column(np.int64, unit="tick", writer="Safety", doc="how long it was slow for people in all")


class Safety(FeatureRows[SafetyColumns], SpeedRule):
    """Limits robots before people: `places` (N, 2) and `radii` (N,) of these are set by whoever moves them."""

    in_traffic = True

    def __init__(self, host: FeatureHost, table: SafetyColumns) -> None:
        super().__init__(host.world, table)
        self.people: Rows = NO_ROWS
        self.radii: Floats = np.empty(0)
        self.blocks: Ints = NO_ROWS
        """The rows (N,) of the robots that people stand before, NOBODY for none."""
        self._seen = -1
        self._version = -1
        self._robots: Rows = NO_ROWS
        self._lowered: tuple[Rows, Floats, Floats] | None = None
        self._still: tuple[Rows, Floats] = (NO_ROWS, np.empty(0))
        host.world.speed_rules.append(self)

    def watch(self, people: Rows, radii: Floats) -> None:
        """Let robots look out for these from now on."""
        self.people, self.radii = people, radii
        if len(self.blocks) != len(people):
            self.blocks = np.full(len(people), NOBODY)

    # ---- the rule ----------------------------------------------------------------------------------------------------

    def lower(self) -> None:
        """Lower the limits of robots that people are near to."""
        if not len(self.people):
            return
        world, motion, table = self.world, self.world.motion, self.table
        # The traffic asks first, and the other robots later in the step; nobody walks in between.
        if self._seen != world.clock.tick:
            self._seen = world.clock.tick
            self._look(world.clock.dt)
        rows = self._robots[table.limit[self._robots] < np.inf]
        turning = self._robots[table.close[self._robots]]
        self._lowered = rows, motion.linear_limit[rows], motion.linear_limits[rows]
        self._still = turning, motion.angular_limit[turning]
        motion.angular_limit[turning] = 0.0
        motion.linear_limit[rows] = np.minimum(self._lowered[1], table.limit[rows])
        motion.linear_limits[rows] = np.minimum(self._lowered[2], table.limit[rows][:, None])

    def restore(self) -> None:
        """Give robots their own limits again."""
        if self._lowered is not None:
            rows, limit, limits = self._lowered
            self.world.motion.angular_limit[self._still[0]] = self._still[1]
            self.world.motion.linear_limit[rows], self.world.motion.linear_limits[rows] = limit, limits
            self._lowered = None

    # ---- looking -----------------------------------------------------------------------------------------------------

    def robots(self) -> Rows:
        """Return the robots that have the fields, their footprints measured."""
        world = self.world
        if self._version != world.version:
            rows = self.rows
            carried = world.parent[world.rows]
            loaded = np.zeros(world.capacity, np.bool_)
            loaded[carried[carried != NO_ROW]] = True
            laws = world.laws.names()
            for row in rows[loaded[rows] | self.table.loaded[rows] | (self.table.radius[rows] == 0.0)].tolist():
                radius = self.table.radius[row] = footprint_radius(world, row)
                # What turns towards where it drives is as wide as its body.
                turns = laws[int(world.motion.law[row])] == DIFFERENTIAL
                self.table.halves[row] = footprint_box(world, row) if turns else radius
                self.table.loaded[row] = loaded[row]
            self._robots, self._version = rows[world.parent[rows] == NO_ROW], world.version
        return self._robots

    def machines(self, rows: Rows, dt: float) -> Machines:
        """Return where robots are, where they drive, and how far they get at most until they stand."""
        world = self.world
        velocities = world.velocity[rows, :2]
        speeds = trig.hypot(velocities[:, 0], velocities[:, 1])
        accels = self._accels(rows)
        headings = velocities / np.where(speeds > 0.0, speeds, 1.0)[:, None]
        still = np.flatnonzero(speeds == 0.0)
        headings[still] = self._headings(rows[still])
        # The last part of braking ends with a step.
        stops = 0.5 * speeds * speeds / accels + 0.5 * dt * np.minimum(speeds, accels * dt)
        radii, sizes = self.table.radius[rows], self.table.halves[rows]
        # Those that turn sweep a disc.
        boxes = (sizes[:, 1] < radii) & (world.angular_velocity[rows, 2] == 0.0)
        halves, rounds = np.where(boxes[:, None], sizes, 0.0), np.where(boxes, 0.0, radii)
        places = np.ascontiguousarray(world.position[rows, :2])
        return Machines(places, radii, headings, stops, halves, rounds, headings, np.zeros(len(rows)), sizes)

    def swept(self, rows: Rows, ends: Floats, dt: float) -> Machines:
        """Return robots as `machines` does, from where they were before this step on, with their ways to `ends`
        (N, 2), which they may drive to: nobody steps into these."""
        found, table = self.machines(rows, dt), self.table
        came, goes = found.places - table.before[rows], ends - found.places
        table.before[rows] = found.places
        backs, claims = trig.hypot(came[:, 0], came[:, 1]), trig.hypot(goes[:, 0], goes[:, 1])
        # Those that were put elsewhere came no way.
        drove = (backs > 0.0) & (backs < 2.0)
        came, backs = np.where(drove[:, None], came, 0.0), np.where(drove, backs, 0.0)
        headings = np.where(drove[:, None], came / np.where(drove, backs, 1.0)[:, None], found.headings)
        ways = goes / np.where(claims > 0.0, claims, 1.0)[:, None]
        places, stops = found.places - backs[:, None] * headings, found.stops + backs
        # Beyond what it has come.
        claims += np.maximum((came * ways).sum(axis=1), 0.0)
        return found._replace(places=places, headings=headings, stops=stops, ways=ways, claims=claims)

    def _accels(self, rows: Rows) -> Floats:
        motion = self.world.motion
        return np.minimum(np.minimum(motion.linear_accel[rows], motion.linear_accels[rows].max(axis=1)), FASTEST)

    def _headings(self, rows: Rows) -> Floats:
        """Return the directions (N, 2) in which robots that stand will drive."""
        sines, cosines = trig.sin_cos(quaternions.yaws(self.world.orientation[rows]))
        found = np.stack((cosines, sines), axis=1)
        traffic = self.world.tables.get("traffic")
        if isinstance(traffic, TrafficColumns):
            found[traffic.present[rows] & traffic.reversing[rows]] *= -1.0
        return found

    def wants(self, rows: Rows) -> Bools:
        """Return which robots are on their way somewhere."""
        wants: Bools = self.world.motion.control[rows] != IDLE
        traffic = self.world.tables.get("traffic")
        if isinstance(traffic, TrafficColumns):
            ours = traffic.present[rows] & (traffic.held[rows] == 0)
            wants |= ours & (traffic.length[rows] - 1 > traffic.at[rows])
        return wants

    def _look(self, dt: float) -> None:
        """Find what limits the robots in this step, and which people stand before one that wants to drive."""
        table, rows = self.table, self.robots()
        machines = self.machines(rows, dt)
        fields = np.stack(
            (table.protective[rows], table.warning[rows], table.slow[rows], table.halves[rows, 1]), axis=1
        )
        speeds = trig.hypot(self.world.velocity[rows, 0], self.world.velocity[rows, 1])
        accels = self._accels(rows)
        limits, blocked = np.full(len(rows), np.inf), np.full(len(self.people), NOBODY)
        close: Bools = np.zeros(len(rows), np.bool_)
        places = np.ascontiguousarray(self.world.position[self.people, :2])
        # Of two at the same x either may come first.
        order = np.argsort(places[:, 0])
        strips = places[order, 0].copy()
        wants = self.wants(rows)
        look(machines, fields, speeds, accels, wants, places, self.radii, order, strips, limits, close, blocked, dt)
        table.limit[rows], table.close[rows] = limits, close
        self.blocks = np.where(blocked == NOBODY, NOBODY, rows[blocked]) if len(rows) else blocked
        stands = wants & (limits == 0.0) & (speeds == 0.0)
        table.violated[rows] = stands
        table.stood[rows] += stands
        motion = self.world.motion
        slow = limits < np.minimum(motion.linear_limit[rows], motion.linear_limits[rows].max(axis=1))
        table.slowed[rows] += wants & ~stands & slow


@compiled
def look(
    machines: Machines,
    fields: Floats,
    speeds: Floats,
    accels: Floats,
    wants: Bools,
    places: Floats,
    radii: Floats,
    order: Ints,
    strips: Floats,
    limits: Floats,
    close: Bools,
    blocked: Ints,
    dt: float,
) -> None:
    """Fill `limits` (M,) of robots in m/s, and for each person (N,) the robot that it is in the way of, in `blocked`.

    `close` (M,) are those that might touch somebody if they turned. `fields` (M, 4) are protective, warning, slow and
    half the width. People are looked up by x: `strips` (N,), in `order`.
    """
    for machine in range(len(speeds)):
        x, y = machines.places[machine, 0], machines.places[machine, 1]
        hx, hy, speed, accel = (
            machines.headings[machine, 0],
            machines.headings[machine, 1],
            speeds[machine],
            accels[machine],
        )
        protective, warning = fields[machine, 0], fields[machine, 1]
        # Within reach is whom it may have to brake for in the next step.
        reach = machines.radii[machine] + max(protective, warning) + machines.stops[machine] + 2.0 * speed * dt + 1.5
        at = np.searchsorted(strips, x - reach)
        while at < len(strips) and strips[at] <= x + reach:
            person = order[at]
            at += 1
            dx, dy = places[person, 0] - x, places[person, 1] - y
            if abs(dy) > reach:
                continue
            width = machines.radii[machine] + radii[person]
            gap = np.sqrt(dx * dx + dy * dy) - width
            if gap < CLOSE:
                close[machine] = True
                if wants[machine]:
                    blocked[person] = machine
            ahead, aside = dx * hx + dy * hy, abs(hx * dy - hy * dx)
            if ahead <= 0.0 or aside >= width + BESIDE + protective or ahead > reach + width:
                continue
            if gap <= warning:
                limits[machine] = min(limits[machine], fields[machine, 2])
            if aside >= fields[machine, 3] + radii[person] + BESIDE:
                continue
            straight = ahead - np.sqrt(max(width * width - aside * aside, 0.0))
            # It may speed up in this step, and brakes from the next one on.
            left = straight - protective - (speed + 0.5 * accel * dt) * dt
            allowed = np.sqrt(2.0 * accel * left) if left > 0.0 else 0.0
            if speed == 0.0 and allowed < 0.1:
                allowed = 0.0
            limits[machine] = min(limits[machine], allowed)
            if speed == 0.0 and straight < IN_THE_WAY and wants[machine]:
                blocked[person] = machine


class SafetyFeature(Feature[SafetySettings, SafetyColumns]):
    """Robots that look out for people: `safety:` in an entry, `sim.features.use("safety")` is the Safety."""

    doc = "How it slows down near people, and stops before them."
    settings = SafetySettings
    table = SafetyColumns

    def start(self, host: FeatureHost, table: SafetyColumns) -> Safety:
        """Let the fields limit speeds from now on."""
        return Safety(host, table)

    def enter(self, part: Safety, table: SafetyColumns, rows: Rows) -> None:
        """Refuse what does not drive."""
        fixed = rows[part.world.kind[rows] != KIND_AGENT]
        if len(fixed):
            raise InvalidValueError(f"{part.world.label(int(fixed[0]))!r} is no robot, and has no safety field")

    def report(self, columns: Mapping[str, AnyArray]) -> Mapping[str, AnyArray]:
        """Return in whose protective fields people are."""
        return {"faults": FAULTS["field_violation"] * (columns["present"] & columns["violated"])}

    def details(self, table: SafetyColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say whether it stands or is slow for people."""
        limit = float(table.limit[row])
        text = (
            "stands for a person" if table.violated[row] else "free" if limit == np.inf else f"at most {limit:.2f} m/s"
        )
        return [("safety field", text)]


FEATURE = SafetyFeature()
