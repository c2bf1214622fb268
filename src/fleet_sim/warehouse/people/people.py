"""People in a site: who is there, where they go, and how they give way to robots. They are bodies like any other.

The section `people` of a scenario, and the key `person` of an entry, which `setup.cfg` declares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import ConfigError, InvalidValueError, StateError, located
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.request_budget import ENTITIES, Work
from fleet_sim.base.scenario import SettingsSection
from fleet_sim.base.settings import Checked, read, setting, time_setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.spawn_params import ShapeParams, SimObjectSpawnParams
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.people import places as floor
from fleet_sim.warehouse.people import walking
from fleet_sim.warehouse.people.safety import NOBODY, Safety, SafetySettings
from fleet_sim.warehouse.people.walking import AIMS, STANDS, WALKS, Crowd, Law, Machines, Shelves
from fleet_sim.warehouse.sites.section import until_cleared
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.world.clock import normals, purpose_key, uniforms
from fleet_sim.world.collision_rules import CollisionRule
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import FeatureRows, World

WAYS = Work("cells of the ways of people", 5e7)
"""For each place that they go to, all cells of the site."""

STATIC = CollisionMode.STATIC.code
MOST = 100_000
"""People at a time."""


@dataclass
class GroupSettings(Checked):
    """People of one kind: how many, when they come, and where they go."""

    visits: tuple[Any, ...] = setting(
        reader=floor.read_places, schema={"type": "array", "minItems": 1, "items": floor.PLACE}, doc="Where they go."
    )
    name: str = setting("person", doc="They are called by it and a number.")
    count: int = setting(0, low=0, high=MOST, doc="There when it begins.")
    per_hour: float = setting(0.0, low=0.0, high=1e6, doc="Who come besides, at random times.")
    begin: float = time_setting(0.0, doc="When their shift begins.")
    end: float | None = time_setting(None, doc="When it ends: they go back to where they came from, and leave.")
    at: Any = setting(None, reader=floor.read_begin, schema=floor.BEGIN, doc="Where they come from; null: anywhere.")
    tour: Literal["random", "order"] = setting(
        "random", doc="Whether they choose places at random, or go in this order."
    )
    leaves: bool = setting(False, doc="Whether they leave at the first place, or the last one of an order.")
    stays: tuple[float, float] = setting(
        (5.0, 30.0), low=0.0, high=1e5, unit="s", doc="Spent at each place, between these."
    )
    size: int = setting(1, low=1, high=10, doc="So many walk together.")
    speed: float = setting(1.34, low=0.1, high=5.0, unit="m/s", doc="Mean of the speeds at which they like to walk.")
    deviation: float = setting(0.26, low=0.0, high=1.0, unit="m/s", doc="Standard deviation of these speeds.")
    radius: float = setting(0.2, low=0.1, high=0.5, unit="m", doc="Of a person, seen from above.")
    height: float = setting(1.75, low=0.5, high=2.5, unit="m", doc="Of a person.")
    color: tuple[float, float, float, float] = setting((0.95, 0.75, 0.1, 1.0), low=0, high=1, doc="Of their vests.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.end is not None and self.end <= self.begin:
            raise InvalidValueError(f"end: expected more than begin, {self.begin:g} s, got {self.end:g}")
        if self.stays[1] < self.stays[0]:
            raise InvalidValueError(f"stays: expected the shorter time first, got {list(self.stays)}")
        if not self.count and not self.per_hour:
            raise InvalidValueError("count, per_hour: nobody ever comes; give one of them")
        if self.end is not None and self.at is None:
            raise InvalidValueError("end: they leave where they came from; give them a place `at`")


Groups = list[GroupSettings]


@dataclass
class PeopleSettings(Checked):
    """People who walk in the site of a scenario."""

    groups: Groups = setting(doc="Who they are.")
    safety: SafetySettings = setting(factory=SafetySettings, doc="Of robots that have none of their own.")
    patience: float = time_setting(2.0, doc="How long people stand before a robot that waits, until they step aside.")
    time_gap: float = setting(Law().time_gap, low=0.05, high=10.0, unit="s", doc="Kept to the next person ahead.")
    seed: int | None = setting(
        None, low=0, high=2**62, doc="Of who they are and where they go; null: of the simulation."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [group.name for group in self.groups]
        if not names or len({*names}) < len(names):
            raise InvalidValueError(f"groups: expected one or more, with different names, got {names}")


@dataclass
class PersonSettings(Checked):
    """A person, who walks where a section `people` sends it."""

    speed: float = setting(1.34, low=0.1, high=5.0, unit="m/s", doc="At which it likes to walk.")
    radius: float = setting(0.2, low=0.1, high=0.5, unit="m", doc="Of a person, seen from above.")


class PersonColumns(FeatureColumns):
    """Who each person is, and what it does."""

    speed: Floats = column(float, unit="m/s", writer="spawning", doc="at which it likes to walk")
    radius: Floats = column(float, unit="m", writer="spawning")
    group: Ints = column(np.int64, default=-1, writer="People", doc="number of its group; -1: of none")
    leader: Ints = column(np.int64, default=-1, reference=True, writer="People", doc="whom it walks with")
    target: Ints = column(np.int64, default=-1, writer="People", doc="number of the place that it goes to")
    end: Floats = column(float, (2,), unit="m", writer="People", doc="the point there, in the frame of the site")
    visits: Ints = column(np.int64, writer="People", doc="places that it has been sent to")
    until: Ints = column(
        np.int64, default=-1, unit="tick", writer="People", doc="end of its stay; -1: it is on its way"
    )
    leaving: Bools = column(bool, writer="People", doc="it is taken away when it is there")
    stuck: Ints = column(np.int64, unit="tick", writer="People", doc="how long it has hardly moved")
    blocks: Ints = column(np.int64, unit="tick", writer="People", doc="how long it has stood before a robot that waits")
    yields: Ints = column(np.int64, default=-1, unit="tick", writer="People", doc="until then it keeps aside")
    robot: Ints = column(np.int64, default=-1, reference=True, writer="People", doc="for which it does")
    given: Ints = column(np.int64, default=-1, unit="tick", writer="People", doc="until then robots make room for it")
    spot: Floats = column(
        float, (2,), default=np.nan, unit="m", writer="People", doc="where to, in the frame of the site"
    )
    aside: Floats = column(float, (2,), writer="People", doc="direction there")


class AmongPeople(CollisionRule):
    """People touch each other, and walls; what counts is when they and robots or things do."""

    def __init__(self, world: World, table: PersonColumns) -> None:
        self._world, self._table = world, table

    def allows(self, first: Rows, second: Rows) -> Bools | None:
        """Return which pairs have at most one person, and no person with what is not moved."""
        present, mode = self._table.present, self._world.collision_mode
        if not present.any():
            return None
        one, two = present.take(first), present.take(second)
        return np.asarray(~((one & two) | (one & (mode.take(second) == STATIC)) | (two & (mode.take(first) == STATIC))))


TOLERANCE = 0.4
"""In m: so near to its point a person is there."""
CLOSE = 2.0
"""The same in m where it does not get nearer."""
BOXED_IN, GIVEN, ROOM = 6.0, 15.0, 1.6
"""For people who got nowhere for 6 s robots make room for 15 s: within 1.6 m of them, and of where they go."""
BESIDE = 0.08
"""In m: so near to touching those on a node people keep robots from it; between four nodes, from all of them."""
SPEED, CHOICE, POINT, STAY, TURN, GAP = range(6)
"""Sequences of random numbers, one for each question."""


class PeopleOf(FeatureRows[PersonColumns]):
    """What runs people in a simulation, with a section `people` or without: then they stand."""

    def __init__(self, world: World, table: PersonColumns) -> None:
        super().__init__(world, table)
        world.collision_rules.add(AmongPeople(world, table))


class People(Stateful):
    """The people of a simulation: `sim.get_manager("people")`."""

    STATE = ("_next", "_numbers", "_came", "_left")

    def __init__(self, sim: MultiRobotSimulationCore, site: Site, settings: PeopleSettings) -> None:
        self.settings = settings
        self._sim, self._world = sim, sim.world
        self._part: PeopleOf = sim.features.use("person")
        self._safety: Safety = sim.features.use("safety")
        self._table = self._part.table
        self._places = floor.Places(site, max(group.radius for group in settings.groups))
        self._key = purpose_key(sim.params.seed if settings.seed is None else settings.seed, "people")
        self._law = Law(time_gap=settings.time_gap)
        self._routes = [self._route(number, group) for number, group in enumerate(settings.groups)]
        self._next: list[float] = [self._gap(number, 0) for number in range(len(settings.groups))]
        """When the next one of each group comes, besides those that are there from the beginning."""
        self._numbers: list[int] = [0] * len(settings.groups)
        self._came, self._left = 0, 0
        self._version = -1
        self._rows: Rows = NO_ROWS
        self._told: tuple[object, int] = (None, -1)
        self._asked: Ints = NO_ROWS
        """For each person a robot that needs a node where it is, NOBODY for none."""
        self._needs: tuple[Rows, Floats, float] = (NO_ROWS, np.empty((0, 2)), 0.0)
        """Robots that wait, the places of the nodes that they need, and how far people keep off these."""
        self._nodes: tuple[object, Ints] | None = None
        """The network of the traffic, and its nodes (H, W) by cell from the lower left."""

    def _route(self, number: int, group: GroupSettings) -> tuple[list[int], list[int]]:
        """Return where a group comes from and goes to, as numbers of places; raises ConfigError."""
        cells = self._places.blocked.size
        with located(f"groups[{number}]"):
            # Those who are there from the beginning are counted where they are made.
            ENTITIES.charge(group.per_hour)
            WAYS.charge(cells * (1 + len(group.visits)))
            begins = self._places.numbers(group.at)
            visits = [target for place in group.visits for target in self._places.numbers(place)]
            targets = dict.fromkeys([*visits, *(begins if group.end is not None else [])])
            WAYS.charge(cells * len(targets) * (1 + len(begins) // 10))
            for target in targets:
                self._places.check_way(begins, target)
        return begins, visits

    # ---- what users see ----------------------------------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """The rows of all people in the columns of the world."""
        if self._version != self._world.version:
            self._rows, self._version = self._part.rows, self._world.version
            self._announce()
        return self._rows

    def figures(self) -> dict[str, float]:
        """Return how many came, left and are there, and how long robots stood and were slow for them, in s."""
        safety, seconds = self._safety.table, self._world.clock.seconds
        robots = self._safety.rows
        return {
            "people": len(self.rows),
            "came": self._came,
            "left": self._left,
            "robots_stood_s": seconds(int(safety.stood[robots].sum())),
            "robots_slowed_s": seconds(int(safety.slowed[robots].sum())),
        }

    def send(self, name: str, place: Any) -> None:
        """Send a person to a station or a polygon; raises UnknownNameError and InvalidValueError."""
        row = self._world.index.row_named(name)
        if not self._table.present[row]:
            raise InvalidValueError(f"{name!r} is no person")
        targets = self._places.numbers(floor.read_place(place))
        self._direct(np.array([row]), np.array([targets[0]]))

    def begin(self) -> None:
        """Let those come who are there from the beginning."""
        for number, group in enumerate(self.settings.groups):
            if group.begin == 0.0 and group.count and not self._enter(number, group.count):
                raise InvalidValueError(f"groups[{number}]: there is no room for {group.count} people")

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Move everybody by a step, when the robots have moved; let people come and go."""
        rows = self.rows
        if len(rows):
            self._decide(rows)
            self._walk(rows, dt)
            gone = rows[self._is_gone(rows)]
            if len(gone):
                self._left += len(gone)
                self._sim.remove_rows(gone)
        self._come(self._world.clock.time + dt)

    def _announce(self) -> None:
        """Let robots look out for people."""
        world = self._world
        agents = world.rows[(world.kind[world.rows] == KIND_AGENT) & (world.motion.law[world.rows] != 0)]
        new = agents[~self._safety.table.present[agents]]
        if len(new):
            self._sim.features.give("safety", new, self.settings.safety)
            self._version = world.version
        self._safety.watch(self._rows, self._table.radius[self._rows])

    def ahead(self, dt: float) -> None:
        """Let plans lead through people, as these do not stay, and robots wait before the nodes where they are."""
        rows, traffic = self.rows, self._sim.extensions.find_manager("traffic")
        self._asked, self._needs = NO_ROWS, (NO_ROWS, np.empty((0, 2)), 0.0)
        if traffic is None:
            return
        try:
            network = traffic.network
        except StateError:
            return  # no robot takes part yet
        told = traffic, self._version
        if told != self._told and len(rows):
            traffic.bars.pass_under(self._world.handles.of(rows))
            self._told = told
        robots, nodes = traffic.asked_nodes()
        keep = traffic.bars.radius + BESIDE
        reaches = keep + self._table.radius[rows]
        taken, self._asked = self._around(network, self._world.position[rows, :2], reaches, robots, nodes)
        self._needs = robots, network.positions[nodes], keep
        traffic.wait_for(taken, self._room(network, rows, traffic.rows, traffic.nodes(traffic.rows)))

    def _around(
        self, network: Network, places: Floats, reaches: Floats, robots: Rows, nodes: Ints
    ) -> tuple[Bools, Ints]:
        """Return which nodes (K,) are in reach of `places` (N, 2), and for each place one of the `robots`
        (M,) whose node (M,) is, else NOBODY."""
        found, whose = np.zeros(len(network), np.bool_), np.full(len(places), NOBODY)
        owners = np.full(len(network), NOBODY)
        owners[nodes] = robots
        if network.grid is None:
            # Roadmaps have few nodes.
            for number, (place, reach) in enumerate(zip(places, reaches, strict=True)):
                near = trig.hypot(*(network.positions - place).T) < reach
                found |= near
                whose[number] = owners[near].max(initial=NOBODY)
            return found, whose
        if self._nodes is None or self._nodes[0] is not network:
            table = np.full(network.grid.count, -1, np.int64)
            table[network.cells] = np.arange(len(network))
            self._nodes = network, table.reshape(network.grid.free_mask.shape)[::-1].copy()
        walking.mark(network.grid.to_own(places), reaches, self._nodes[1], network.grid.cell, owners, found, whose)
        return found, whose

    def _room(self, network: Network, rows: Rows, robots: Rows, nodes: Ints) -> Bools:
        """Return which nodes (K,) are to be left for people who get nowhere between `robots` on their `nodes`."""
        table, clock, grid = self._table, self._world.clock, self._places.grid
        stands = np.where(table.until[rows] < 0, table.stuck[rows], 0)
        boxed = rows[np.maximum(stands, table.blocks[rows]) > clock.ticks(BOXED_IN)]
        if len(boxed):
            places = self._world.position[boxed, :2]
            beside = self._around(network, places, np.full(len(boxed), ROOM), robots, nodes)[1]
            table.given[boxed[beside != NOBODY]] = clock.tick + clock.ticks(GIVEN)
        given = rows[table.given[rows] >= clock.tick]
        if not len(given):
            return np.zeros(len(network), np.bool_)
        places = self._own(given)
        # Some may have been put beside the site.
        columns, lines = np.clip(np.floor(places / grid.cell).astype(np.int64), 0, (grid.width - 1, grid.height - 1)).T
        ways = np.array([self._places.way(max(target, 0)) for target in table.target[given].tolist()])
        ahead = np.where(table.target[given] >= 0, 1.0, 0.0)[:, None] * self._places.ground.ways[ways, lines, columns]
        middles = grid.to_world(np.concatenate((places, places + ROOM * ahead)))
        return self._around(network, middles, np.full(len(middles), ROOM), NO_ROWS, NO_ROWS)[0]

    def _decide(self, rows: Rows) -> None:
        """Let stays end and begin, shifts end, and those who get nowhere go elsewhere."""
        table, clock = self._table, self._world.clock
        tick, own = clock.tick, self._own(rows)
        gaps = trig.hypot(own[:, 0] - table.end[rows, 0], own[:, 1] - table.end[rows, 1])
        walks = (table.until[rows] < 0) & (table.target[rows] >= 0)
        near = gaps < np.where(table.stuck[rows] > clock.ticks(2.0), CLOSE, TOLERANCE)
        there = rows[walks & near & ~table.leaving[rows]]
        if len(there):
            groups = self.settings.groups
            shortest, longest = np.array([groups[group].stays for group in table.group[there].tolist()]).T
            stays = shortest + (longest - shortest) * self._drawn(there, table.visits[there], STAY)
            table.until[there] = tick + np.array([clock.ticks(stay) for stay in stays.tolist()], np.int64)
        lost = walks & (table.stuck[rows] > clock.ticks(30.0)) & ~table.leaving[rows]
        self._next_target(rows[(walks & lost) | ((table.until[rows] >= 0) & (table.until[rows] <= tick))])
        for number, group in enumerate(self.settings.groups):
            if group.end is not None and tick == clock.ticks(group.end):
                back = rows[(table.group[rows] == number) & ~table.leaving[rows]]
                begins = np.array(self._routes[number][0])
                self._direct(back, begins[(self._drawn(back, 0, CHOICE) * len(begins)).astype(np.int64)])
                table.leaving[back] = True

    def _next_target(self, rows: Rows) -> None:
        """Send people to the next of the places of their groups; those of a party go where its first one goes."""
        table = self._table
        for number in np.unique(table.group[rows]).tolist():
            ours = rows[table.group[rows] == number]
            if number < 0:
                table.until[ours] = -1
                continue
            group, visits = self.settings.groups[number], np.array(self._routes[number][1])
            counts = table.visits[ours]
            if group.tour == "order":
                chosen = counts % len(visits)
                last = chosen == len(visits) - 1
            else:
                chosen = (self._drawn(ours, counts, CHOICE) * len(visits)).astype(np.int64)
                # Not where it is already.
                same = (visits[chosen] == table.target[ours]) & (len(visits) > 1)
                chosen = np.where(same, (chosen + 1) % len(visits), chosen)
                last = np.ones(len(ours), np.bool_)
            self._direct(ours, visits[chosen])
            table.leaving[ours] = last & group.leaves

    def _direct(self, rows: Rows, targets: Ints) -> None:
        """Send people to a point at each of `targets` (N,)."""
        table = self._table
        table.target[rows] = targets
        shares = self._drawn(rows, table.visits[rows], POINT)
        for target in np.unique(targets).tolist():
            ours, points = targets == target, self._places.points[target]
            table.end[rows[ours]] = points[(shares[ours] * len(points)).astype(np.int64)]
        table.visits[rows] += 1
        table.until[rows], table.stuck[rows] = -1, 0

    def _is_gone(self, rows: Rows) -> Bools:
        table = self._table
        gone: Bools = np.zeros(len(rows), np.bool_)
        leaving = np.flatnonzero(table.leaving[rows])
        own = self._own(rows[leaving])
        for target in np.unique(table.target[rows[leaving]]).tolist():
            ours = table.target[rows[leaving]] == target
            gaps = trig.hypot(*(own[ours] - table.end[rows[leaving[ours]]]).T)
            gone[leaving[ours]] = self._places.inside(target, own[ours]) | (gaps < TOLERANCE)
        return gone

    # ---- walking -----------------------------------------------------------------------------------------------------

    def _walk(self, rows: Rows, dt: float) -> None:
        table, clock = self._table, self._world.clock
        robots = self._safety.robots()
        ends = self._world.position[robots, :2].copy()
        traffic = self._sim.extensions.find_manager("traffic")
        if traffic is not None:
            ours = np.isin(robots, traffic.rows)
            if ours.any():
                ends[ours] = traffic.granted_ends(robots[ours])
        machines = self._of_site(self._safety.swept(robots, ends, dt))
        places = self._own(rows)
        does = np.where((table.until[rows] >= 0) | (table.target[rows] < 0), STANDS, WALKS).astype(np.uint8)
        # Ways are made for those places that somebody goes to.
        used, which = np.unique(np.maximum(table.target[rows], 0), return_inverse=True)
        fields = np.array([self._places.way(target) for target in used.tolist()])[which]
        stuck = table.stuck[rows]
        rounds = stuck // clock.ticks(1.5)
        turns = np.where(rounds > 0, (self._drawn(rows, rounds, TURN) - 0.5) * math.radians(200.0), 0.0)
        speeds = table.speed[rows] * self._together(rows, places)
        aims, velocities = np.zeros((2, len(rows), 2))
        crowd = Crowd(places, table.radius[rows], speeds, does, fields, table.end[rows], turns, aims, velocities)
        reach = max(2.0 * float(crowd.radii.max()) + float(speeds.max()) * self._law.time_gap, 1.0) + 0.1
        # As far as people look, and as robots may drive or need to stop.
        drives = np.maximum(machines.claims, machines.stops) + machines.radii + float(crowd.radii.max()) + walking.ROOM
        around = max(walking.LOOKS + 1.0, float(drives.max(initial=0.0)))
        shelves, near = self._shelved(places, reach), self._shelved(machines.places, around)
        self._give_way(rows, crowd, shelves, robots, machines, near)
        speeds[does == AIMS] = np.minimum(speeds[does == AIMS], walking.PACE)
        walking.walk(crowd, shelves, self._places.ground, machines, near, self._law, dt)
        walked = trig.hypot(crowd.velocities[:, 0], crowd.velocities[:, 1])
        slow = (does == WALKS) & (walked < 0.1 * speeds)
        table.stuck[rows] = np.where(slow, stuck + 1, np.where(walked > 0.3 * speeds, 0, stuck))
        self._write(rows, crowd, walked)

    def _give_way(
        self, rows: Rows, crowd: Crowd, shelves: Shelves, robots: Rows, machines: Machines, near: Shelves
    ) -> None:
        """Let people step aside who have stood before a robot for long."""
        table, clock = self._table, self._world.clock
        blocks = np.full(len(rows), NOBODY)
        for found in (self._asked, self._safety.blocks):
            if len(found) == len(rows):
                blocks = np.where(found != NOBODY, found, blocks)
        table.blocks[rows] = np.where(blocks != NOBODY, table.blocks[rows] + 1, 0)
        new = (blocks != NOBODY) & (table.blocks[rows] > clock.ticks(self.settings.patience))
        table.robot[rows[new]] = blocks[new]
        begins = new & (table.yields[rows] < clock.tick)
        table.yields[rows] = np.where(table.yields[rows] < clock.tick, -1, table.yields[rows])
        table.yields[rows[new]] = clock.tick + clock.ticks(6.0)
        yielding = np.flatnonzero(table.yields[rows] >= clock.tick)
        if not len(yielding):
            return
        index = np.full(self._world.capacity, -1, np.int64)
        index[robots] = np.arange(len(robots))
        needs = np.full((len(robots), 2), np.nan)
        asking = index[self._needs[0]]
        # Some may have been removed since they asked.
        needs[asking[asking >= 0]] = self._places.grid.to_own(self._needs[1][asking >= 0])
        wants = np.flatnonzero(self._safety.wants(robots))
        before, queue = np.empty((2, walking.STEPS * walking.STEPS), np.int64)
        waiting = walking.Waiting(wants, needs, self._needs[2], before, queue, np.empty_like(wants))
        ticks = clock.ticks(walking.LOOK)
        whom = index[table.robot[rows[yielding]]]
        # Some were removed.
        yielding, whom = yielding[whom >= 0], whom[whom >= 0]
        gaps, wide = crowd.places[yielding] - machines.places[whom], machines.radii[whom] + crowd.radii[yielding]
        distances, ahead = trig.hypot(gaps[:, 0], gaps[:, 1]), (gaps * machines.headings[whom]).sum(axis=1)
        passed = (distances > 5.0) | ((ahead < 0.0) & (distances > wide + walking.CLEAR))
        table.yields[rows[yielding[passed]]] = -1
        yielding, whom = yielding[~passed], whom[~passed]
        table.spot[rows[yielding[begins[yielding]]]] = np.nan
        # Not all of them in the same step, and elsewhere each time, so that no narrow gap is missed for long.
        looks = begins[yielding] | ((clock.tick + yielding) % ticks == 0)
        who, look = yielding[looks], clock.tick // ticks
        shift = look * 0.618034 % 1.0 - 0.5, look * 0.754878 % 1.0 - 0.5
        spots, asides = table.spot[rows[who]], np.zeros((len(who), 2))
        walking.make_room(
            who, whom[looks], shift, spots, asides, crowd, shelves, self._places.ground, machines, near, waiting
        )
        table.spot[rows[who]], table.aside[rows[who]] = spots, asides
        crowd.aims[yielding] = table.aside[rows[yielding]]
        crowd.does[yielding] = np.where(crowd.aims[yielding].any(axis=1), AIMS, STANDS)

    def _together(self, rows: Rows, places: Floats) -> Floats:
        """Return the share (N,) of their speeds at which people walk who wait for those with whom they walk."""
        leaders = self._table.leader[rows]
        shares = np.ones(len(rows))
        if (leaders >= 0).any():
            index = np.full(self._world.capacity, -1, np.int64)
            index[rows] = np.arange(len(rows))
            members = np.flatnonzero(leaders >= 0)
            first = index[leaders[members]]
            members, first = members[first >= 0], first[first >= 0]
            gaps = trig.hypot(*(places[members] - places[first]).T)
            to_go = trig.hypot(*(places - self._table.end[rows]).T)
            # Who is ahead waits for the others.
            late = to_go[members] > to_go[first]
            far = gaps > 1.5
            shares[members[far & ~late]] = 0.5
            shares[first[far & late]] = 0.5
        return shares

    def _shelved(self, points: Floats, size: float) -> Shelves:
        height, width = self._places.blocked.shape
        columns = max(int(width * self._places.grid.cell / size), 1)
        lines = max(int(height * self._places.grid.cell / size), 1)
        shelves = Shelves(np.zeros(columns * lines + 1, np.int64), np.zeros(len(points), np.int64), columns, size)
        walking.shelve(points, *shelves)
        return shelves

    def _write(self, rows: Rows, crowd: Crowd, walked: Floats) -> None:
        """Write where people have come to."""
        world = self._world
        moved = np.flatnonzero((walked > 0.0) | (world.velocity[rows, 0] != 0.0) | (world.velocity[rows, 1] != 0.0))
        ours = rows[moved]
        world.position[ours, :2] = self._places.grid.to_world(crowd.places[moved])
        yaw = float(self._places.grid.origin[2])
        sine, cosine = (float(part) for part in trig.sin_cos(np.float64(yaw)))
        vx, vy = crowd.velocities[moved].T
        world.velocity[ours, 0], world.velocity[ours, 1] = cosine * vx - sine * vy, sine * vx + cosine * vy
        goes = walked[moved] > 0.05
        world.orientation[ours[goes]] = quaternions.from_yaws(trig.arctan2(vy[goes], vx[goes]) + yaw)
        world.touch(ours)

    # ---- who comes ---------------------------------------------------------------------------------------------------

    def _come(self, time: float) -> None:
        """Let people come whose time has come, where there is room."""
        for number, group in enumerate(self.settings.groups):
            dt = self._world.clock.dt
            if group.begin > 0.0 and time - dt < group.begin <= time and group.count:
                self._enter(number, group.count)
            due = bool(group.per_hour) and self._next[number] <= time and (group.end is None or time < group.end)
            if due and self._enter(number, group.size):
                self._next[number] += self._gap(number, self._numbers[number]) - group.begin

    def _gap(self, number: int, count: int) -> float:
        group = self.settings.groups[number]
        if not group.per_hour:
            return math.inf
        share = uniforms(self._key, np.array([number]), count, GAP)
        return group.begin - 3600.0 / group.per_hour * float(trig.log(1.0 - share)[0])

    def _enter(self, number: int, count: int) -> bool:
        """Let `count` people of a group in; nobody comes where there is no room for all. Return whether they came."""
        group = self.settings.groups[number]
        begins, _ = self._routes[number]
        numbers = np.arange(self._numbers[number], self._numbers[number] + count)
        key = self._key ^ (number + 1)
        points = np.concatenate([self._places.points[begin] for begin in begins])
        if isinstance(group.at, str):
            # Around the station, as one point holds one person.
            middles = self._places.points[self._places.numbers(None)[0]]
            gaps = np.min([trig.hypot(*(middles - point).T) for point in points], axis=0)
            points = middles[np.lexsort((np.arange(len(gaps)), gaps))][: 40 * count + 40]
            order = np.arange(len(points))
        else:
            order = np.argsort(uniforms(key, np.arange(len(points)), self._numbers[number], POINT), kind="stable")
        chosen = self._free_points(points[order], count, group)
        if len(chosen) < count:
            return False
        draws = normals(key, numbers, 0, SPEED)
        speeds = np.clip(
            group.speed + group.deviation * draws, max(0.3 * group.speed, 0.1), min(2.0 * group.speed, 5.0)
        )
        shape = ShapeParams("cylinder", radius=group.radius, height=group.height, rgba_color=group.color)
        spots = self._places.grid.to_world(chosen)
        params = [
            SimObjectSpawnParams(
                *(shape, shape, Pose((x, y, 0.5 * group.height))),
                name=f"{group.name}_{who}",
                pickable=False,
                features={"person": {"speed": speed, "radius": group.radius}},
            )
            for who, (x, y), speed in zip(numbers.tolist(), spots.tolist(), speeds.tolist(), strict=True)
        ]
        rows = np.array([handle.row for handle in self._sim.spawn_all(params)], np.int64)
        self._numbers[number] += count
        self._came += count
        self._table.group[rows] = number
        # The first of each party leads; the others draw what it draws.
        parties = np.arange(count) // group.size
        self._table.leader[rows] = np.where(np.arange(count) % group.size == 0, NOBODY, rows[parties * group.size])
        self._next_target(rows)
        return True

    def _free_points(self, points: Floats, count: int, group: GroupSettings) -> Floats:
        """Return the first `count` of `points` (K, 2) where a person touches nobody, or as many as there are."""
        taken = [np.empty((0, 3))]
        bodies = np.concatenate((self.rows, self._safety.robots()))
        machine = len(bodies) - len(self.rows)
        if len(bodies):
            # Robots keep off only those that they have seen.
            wide = np.concatenate(
                (self._table.radius[self.rows], self._safety.table.radius[bodies[-machine:]] + 0.5 if machine else [])
            )
            taken.append(np.column_stack((self._own(bodies), wide)))
        others = np.concatenate(taken)
        mask = np.zeros(len(points), np.bool_)
        size = 2.0 * group.radius + 0.02
        used: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for index, (x, y) in enumerate(points.tolist()):
            cell = (int(x // size), int(y // size))
            close = [
                point
                for right in (-1, 0, 1)
                for up in (-1, 0, 1)
                for point in used.get((cell[0] + right, cell[1] + up), ())
            ]
            if any((x - a) ** 2 + (y - b) ** 2 < size * size for a, b in close):
                continue
            if (
                len(others)
                and (trig.hypot(others[:, 0] - x, others[:, 1] - y) < others[:, 2] + group.radius + 0.02).any()
            ):
                continue
            used.setdefault(cell, []).append((x, y))
            mask[index] = True
            if np.count_nonzero(mask) == count:
                break
        return points[mask]

    # ---- helpers -----------------------------------------------------------------------------------------------------

    def _own(self, rows: Rows) -> Floats:
        return self._places.grid.to_own(self._world.position[rows, :2])

    def _of_site(self, machines: Machines) -> Machines:
        """Return robots in the frame of the site."""
        grid = self._places.grid
        places = grid.to_own(machines.places)
        headings, ways = (grid.to_own(machines.places + way) - places for way in (machines.headings, machines.ways))
        return machines._replace(places=places, headings=headings, ways=ways)

    def _drawn(self, rows: Rows, counts: Any, question: int) -> Floats:
        """Return a number (N,) in [0, 1) for each of `rows`; those who walk together draw the same."""
        leaders = self._table.leader[rows]
        who = np.where((leaders >= 0) & (question in (CHOICE, STAY)), leaders, rows)
        return uniforms(self._key, self._world.object_id[who], counts, question)


class PersonFeature(Feature[PersonSettings, PersonColumns]):
    """People: `person:` in the entry of an object."""

    doc = "Makes it a person, before whom robots stop."
    settings = PersonSettings
    table = PersonColumns

    def start(self, host: FeatureHost, table: PersonColumns) -> PeopleOf:
        """Let people not collide with each other."""
        return PeopleOf(host.world, table)

    def details(self, table: PersonColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say what a person does."""
        does = "steps aside" if table.yields[row] >= 0 else "stays" if table.until[row] >= 0 else "walks"
        return [("person", does)]


FEATURE = PersonFeature()


def offer_people(
    sim: MultiRobotSimulationCore, site: Site, given: PeopleSettings | None = None, /, **values: Any
) -> People:
    """Let people walk in `site`; returns the People, which is also the manager "people".

    The settings are `given`, or those of the section `people` as keywords. Raises ConfigError for wrong settings and
    StateError where there are people already.
    """
    settings = read(PeopleSettings, values, path="people") if given is None else given
    if sim.extensions.find_manager("people") is not None:
        raise StateError("this simulation has people already: sim.get_manager('people')")
    people = People(sim, site, settings)

    def leave() -> None:
        sim.pipeline.remove("people_ahead")
        sim.pipeline.remove("people")

    until_cleared(sim, people, "people", leave)
    sim.checkpoints.register_late("people", people)
    sim.pipeline.add(System("people_ahead", Phase.UPDATE, people.ahead), before="actions")
    sim.pipeline.add(System("people", Phase.UPDATE, people.step), after="motion")
    people.begin()

    return people


def _open(sim: MultiRobotSimulationCore, settings: PeopleSettings, source: str) -> None:
    site = sim.extensions.find_manager("site")
    if site is None:
        raise ConfigError("needs a section 'site' to walk in")
    offer_people(sim, site, settings)


SECTION = SettingsSection("people", PeopleSettings, _open, "People who walk in the site, and before whom robots stop.")
