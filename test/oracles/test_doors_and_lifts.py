"""Doors, cabins and shafts of buildings, in plan: where leaves and walls are, and who is near or in their way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import rigid
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.warehouse.equipment import (
    DoorSettings,
    LiftHandle,
    LiftSettings,
    build_door,
    build_lift,
    offer_building_routes,
)
from fleet_sim.warehouse.sites import Building, Grid, Site
from fleet_sim.warehouse.sites.site import Level, LevelGraph, LiftShaft
from fleet_sim.world.routes import NoRoute

Sim = fs.MultiRobotSimulationCore
BEGIN, END = np.array((1.0, -2.0)), np.array((2.7, -0.9))
WIDTH = math.dist(BEGIN, END)
AHEAD = (END - BEGIN) / WIDTH
YAW = math.atan2(AHEAD[1], AHEAD[0])


@pytest.fixture(params=[0.05, 0.013])
def sim(request: Any) -> Any:
    """An empty world."""
    with Sim(fs.SimulationParams(gui=False, target_rtf=0, timestep=request.param)) as made:
        yield made


def unit(angle: float) -> Floats:
    return np.array((math.cos(angle), math.sin(angle)))


def box(sim: Sim, name: str, place: Any, half: Any, yaw: float = 0.0, **more: Any) -> fs.SimObject:
    """Spawn a box, which robots carry or doors wait for."""
    shape = fs.ShapeParams("box", half_extents=tuple(half))
    thing: fs.SimObject = sim.spawn(
        fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_yaw(*place, yaw), name=name, **more)
    )
    return thing


def in_frame(points: Floats, middle: Floats, yaw: float) -> Floats:
    """Points (K, 2) along and across what is turned by `yaw` at `middle`."""
    return np.asarray((points - middle) @ np.stack((unit(yaw), unit(yaw + 0.5 * math.pi)), axis=1))


# ---- doors ---------------------------------------------------------------------------------------------------------


@holds(
    "api:DoorHandle.opening",
    fault=(
        "warehouse/equipment/building.py: the leaves are halves at any ratio; the second one "
        "turns as the first one does"
    ),
)
@pytest.mark.parametrize(
    ("kind", "direction"), [("swing", 1), ("double_swing", -1), ("sliding", 1), ("double_sliding", 1)]
)
def test_leaves_turn_about_the_ends_of_the_passage_or_slide_away_from_its_middle(
    sim: Sim, kind: str, direction: int
) -> None:
    ratio, degrees, floor, height = 0.6, 73.0, 0.4, 1.9
    more = {"kind": kind, "direction": direction, "ratio": ratio, "degrees": degrees}
    door = build_door(
        sim, DoorSettings("door", tuple(BEGIN), tuple(END), time=0.83, floor=floor, height=height, **more)
    )
    double = kind.startswith("double")
    first = WIDTH / (1.0 + ratio) if double else WIDTH
    # End of the passage, direction away from it, side to which it swings, length.
    leaves = {"door": (BEGIN, YAW, direction, first)}
    if double:
        leaves["door_b"] = (END, YAW + math.pi, -direction, first * ratio)
    door.open()
    openings = []
    for _ in range(round(1.0 / sim.params.timestep)):
        sim.step_once()
        openings.append(door.opening)
        for name, (end, yaw, side, length) in leaves.items():
            pose = sim.get_object(name).get_pose()
            turn = yaw + (side * math.radians(degrees) * door.opening if "swing" in kind else 0.0)
            slide = 0.0 if "swing" in kind else door.opening * length
            expected = end + 0.5 * length * unit(turn) - slide * unit(yaw)
            assert pose.position == pytest.approx((*expected, floor + 0.5 * height))
            assert math.remainder(pose.yaw - turn, math.tau) == pytest.approx(0.0, abs=1e-9)
    assert openings[-1] == 1.0 and sum(0.0 < opening < 1.0 for opening in openings) > 10


@holds("api:DoorHandle.is_held", fault="warehouse/equipment/door.py: a swinging leaf sweeps to the other side")
@pytest.mark.parametrize(("kind", "direction"), [("swing", 1), ("swing", -1), ("double_swing", 1), ("sliding", 1)])
def test_a_door_waits_for_what_is_in_the_area_that_its_leaves_sweep(sim: Sim, kind: str, direction: int) -> None:
    thick, height = 0.06, 1.7
    more = {"kind": kind, "direction": direction, "thickness": thick, "height": height, "open": True, "time": 9.0}
    door = build_door(sim, DoorSettings("door", tuple(BEGIN), tuple(END), **more))
    half = np.array((0.11, 0.07, 0.2))
    thing = box(sim, "thing", (9.0, 9.0, 0.5), half)
    random, seen = np.random.default_rng(3), [0, 0]
    for _ in range(60):
        along, across = random.uniform(-0.4, WIDTH + 0.4), random.uniform(-WIDTH - 0.4, WIDTH + 0.4)
        z = random.choice([0.3, height + 0.1, height + 0.3])
        middle = BEGIN + along * AHEAD + across * np.array((-AHEAD[1], AHEAD[0]))
        thing.set_pose(fs.Pose((*middle, z)))
        door.close()
        sim.step_once()
        sim.step_once()
        corners = middle + half[:2] * np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])
        own = in_frame(corners, BEGIN, YAW)
        (low, high), room = (own.min(axis=0), own.max(axis=0)), 0.02
        # By the boxes around: a swinging leaf sweeps the square beside it, thick as it is.
        areas = [((0.0, -0.5 * thick), (WIDTH, 0.5 * thick))]
        if kind != "sliding":
            lengths = [(0.0, 0.5 * WIDTH), (0.5 * WIDTH, WIDTH)] if kind.startswith("double") else [(0.0, WIDTH)]
            sides = [(-0.5 * thick, end - begin + 0.5 * thick) for begin, end in lengths]
            # The middle of what is swept is half a leaf beside it; half of that, and of the leaf, to each side.
            areas = [
                ((begin, low_), (end, high_)) if direction > 0 else ((begin, -high_), (end, -low_))
                for (begin, end), (low_, high_) in zip(lengths, sides, strict=True)
            ]
        margins = [
            min(*(np.array(most) + room - low), *(high - np.array(least) + room), height + half[2] - z)
            for least, most in areas
        ]
        if min(map(abs, margins)) > 1e-6:
            held = bool(max(margins) > 0.0)
            assert door.is_held is held, (along, across, z)
            seen[held] += 1
        door.open()
        thing.set_pose(fs.Pose((9.0, 9.0, 0.5)))
        while door.opening < 1.0:
            sim.step_once()
    assert min(seen) > 4


@holds(
    "api:DoorHandle.is_held", fault="warehouse/equipment/door.py: a leaf with its hinge ahead sweeps to the other side"
)
@pytest.mark.parametrize(("hinge", "swing"), [(0.8, 1.1), (0.8, -1.1), (-0.8, 1.1), (-0.8, -1.1)])
def test_a_leaf_sweeps_to_the_side_to_which_it_turns_about_its_hinge(sim: Sim, hinge: float, swing: float) -> None:
    middle = 0.5 * (BEGIN + END)
    entry = {"swing": swing, "hinge": hinge, "open": True, "time": 9.0}
    leaf = box(sim, "leaf", (*middle, 0.9), (0.8, 0.03, 0.9), YAW, mass=0.0, features={"door": entry})
    thing = box(sim, "thing", (9.0, 9.0, 0.5), (0.05, 0.05, 0.2))
    # The end that is free, when it has turned a little: on that side something is in the way, and on the other not.
    pivot = middle + hinge * AHEAD
    turned = pivot + abs(hinge) * unit(YAW + (math.pi if hinge > 0.0 else 0.0) + math.copysign(0.3, swing))
    for place, held in ((turned, True), (turned - 2.0 * across(turned, pivot), False)):
        thing.set_pose(fs.Pose((*place, 0.5)))
        leaf.feature("door").close()
        sim.step_once()
        sim.step_once()
        assert leaf.feature("door").is_held is held
        leaf.feature("door").open()
        thing.set_pose(fs.Pose((9.0, 9.0, 0.5)))
        while leaf.feature("door").opening < 1.0:
            sim.step_once()


def across(place: Floats, pivot: Floats) -> Floats:
    """The part of the way from `pivot` to `place` that is across the passage."""
    return np.asarray((place - pivot) - ((place - pivot) @ AHEAD) * AHEAD)


@holds("api:Doors.reach", fault="warehouse/equipment/door.py: across a leaf has the other sign")
def test_points_near_to_leaves_are_those_near_to_their_boxes(sim: Sim) -> None:
    build_door(sim, DoorSettings("door", tuple(BEGIN), tuple(END), kind="double_swing", ratio=1.7, thickness=0.3))
    doors = sim.features.use("door")
    (row,) = doors.rows
    parts = doors.parts_of(int(row))
    points, radius = np.random.default_rng(2).uniform((0.0, -4.0), (4.0, 1.0), (700, 2)), 0.23
    for opening in (0.0, 0.37, 1.0):
        near = np.zeros(len(points), bool)
        for position, orientation in zip(*doors.poses_at(parts, opening), strict=True):
            pose = fs.Pose(tuple(position), tuple(orientation))
            # Each leaf stays nearer to its own end.
            is_second = math.dist(position[:2], END) < math.dist(position[:2], BEGIN)
            length = WIDTH * (1.7 if is_second else 1.0) / 2.7
            off = np.abs(in_frame(points, position[:2], pose.yaw)) - (0.5 * length, 0.15)
            near |= np.hypot(*np.maximum(off, 0.0).T) < radius
        assert np.array_equal(doors.reach(parts, opening, points, radius), near)
        assert 20 < near.sum() < 600


@holds("api:DoorHandle.mode", fault="warehouse/equipment/door.py: robots on the floor above open it")
def test_an_automatic_door_opens_for_robots_that_are_near_on_its_floor(sim: Sim) -> None:
    reach, floor, height, hold = 1.3, 3.0, 2.0, 0.4
    settings = {"automatic": reach, "floor": floor, "height": height, "time": 0.4, "hold": hold}
    door = build_door(sim, DoorSettings("door", tuple(BEGIN), tuple(END), **settings))
    shape = fs.ShapeParams("cylinder", radius=0.2, height=0.4)
    robot = sim.spawn(fs.AgentSpawnParams(shape, shape, fs.Pose((9.0, 9.0, 0.2)), motion_mode="omnidirectional"))
    middle = 0.5 * (BEGIN + END)
    for angle in (0.3, 2.1, 4.4):
        for gap, z in ((-0.05, 3.2), (0.05, 3.2), (-0.05, 2.6), (-0.05, 2.4), (-0.05, 4.9), (-0.05, 5.1)):
            robot.set_pose(fs.Pose((*(middle + (reach + gap) * unit(angle)), z)))
            sim.step_once()
            assert (door.mode == "moving") is bool(gap < 0.0 and floor - 0.5 <= z <= floor + height), (angle, gap, z)
            robot.set_pose(fs.Pose((9.0, 9.0, 0.2)))
            left = sim.sim_time
            while door.mode != "closed":
                sim.step_once()
                assert sim.sim_time < left + hold + 0.4 + 0.5


# ---- lifts ---------------------------------------------------------------------------------------------------------

CABIN: dict[str, Any] = {
    "name": "lift",
    "position": (4.0, -1.0),
    "yaw": 0.7,
    "width": 2.2,
    "depth": 1.7,
    "height": 2.1,
    "doors": [
        {"name": "front", "x": -1.13, "y": 0.2, "width": 0.9},
        {"name": "side", "x": -0.3, "y": 0.81, "width": 1.1},
        {"name": "rear", "x": 0.5, "y": -0.84, "width": 0.8},
    ],
    "floors": [
        {"name": "low", "height": 0.3},
        {"name": "mid", "height": 3.1, "doors": ["side"]},
        {"name": "top", "height": 6.4},
    ],
    "door_time": 0.5,
    "dwell": 1.1,
}
MIDDLE = np.array(CABIN["position"])


def to_world(x: float, y: float) -> Floats:
    return np.asarray(MIDDLE + x * unit(0.7) + y * unit(0.7 + 0.5 * math.pi))


@holds("api:LiftHandle.floor", fault="warehouse/equipment/building.py: the walls of the other two sides have the gaps")
def test_the_walls_of_a_cabin_are_around_it_but_for_its_doors(sim: Sim) -> None:
    build_lift(sim, LiftSettings(**CABIN))
    walls = [sim.get_object(name) for name in (f"lift_wall_{k}" for k in range(9)) if sim.world.index.has_name(name)]
    # All around the cabin, in the middle of its walls, which are 5 cm thick.
    for x, y in [
        (0.3, 0.825),
        (0.9, 0.825),
        (-0.95, 0.825),
        (-1.075, 0.75),
        (-1.075, -0.5),
        (1.075, 0.3),
        (-0.2, -0.825),
    ]:
        place = np.array([to_world(x, y)])
        offs = [np.abs(in_frame(place, np.array(wall.position[:2]), wall.get_pose().yaw))[0] for wall in walls]
        halves = [np.array(sim.world.half_extents[wall.row][:2]) for wall in walls]
        assert any((off <= half + 1e-9).all() for off, half in zip(offs, halves, strict=True)), (x, y)
    for x, y in [
        (-0.3, 0.825),
        (0.2, 0.825),
        (-0.8, 0.825),
        (-1.075, 0.2),
        (-1.075, 0.6),
        (-1.075, -0.2),
        (0.5, -0.825),
        (0.0, 0.0),
    ]:
        place = np.array([to_world(x, y)])
        offs = [np.abs(in_frame(place, np.array(wall.position[:2]), wall.get_pose().yaw))[0] for wall in walls]
        halves = [np.array(sim.world.half_extents[wall.row][:2]) for wall in walls]
        assert not any((off < half - 1e-9).all() for off, half in zip(offs, halves, strict=True)), (x, y)
    for wall in (*walls, sim.get_object("lift"), sim.get_object("ShaftDoor_lift_top_front")):
        # Nothing leans: the length of a body's axes in the plane.
        turn = rigid.frame_of(wall.get_pose())[:3, :3]
        assert turn[2] == pytest.approx((0.0, 0.0, 1.0), abs=1e-12) and turn[:, 2] == pytest.approx(turn[2], abs=1e-12)
    for wall in walls:
        assert wall.position[2] - sim.world.half_extents[wall.row, 2] == pytest.approx(0.3)
        assert wall.position[2] + sim.world.half_extents[wall.row, 2] == pytest.approx(0.3 + 2.1)
    # The floor under it, and its doors within its edge and before it.
    assert sim.get_object("lift").position == pytest.approx((*MIDDLE, 0.3 - 0.025))
    doors = {
        "front": (-1.1, 0.2, 0.9, (-1.0, 0.0)),
        "side": (-0.3, 0.85, 1.1, (0.0, 1.0)),
        "rear": (0.5, -0.85, 0.8, (0.0, -1.0)),
    }
    for door, (x, y, width, outward) in doors.items():
        names = {"CabinDoor_lift_" + door: (-0.025, 0.3)}
        floors = {"low": 0.3, "mid": 3.1, "top": 6.4}
        names |= {
            f"ShaftDoor_lift_{name}_{door}": (0.05, z) for name, z in floors.items() if name != "mid" or door == "side"
        }
        for name, (beyond, z) in names.items():
            leaves = np.array([sim.get_object(leaf).position for leaf in (name, f"{name}_b")])
            expected = to_world(x + beyond * outward[0], y + beyond * outward[1])
            assert leaves.mean(axis=0) == pytest.approx((*expected, z + 0.5 * 2.1))
            assert math.dist(*leaves) == pytest.approx(0.5 * width)
    assert not sim.world.index.has_name("ShaftDoor_lift_mid_front")


@holds(
    "api:LiftHandle.calls",
    "api:LiftHandle.destination",
    fault="warehouse/equipment/lift.py: who stands beside it rides along",
)
def test_a_lift_takes_who_stands_in_it_and_stays_for_its_dwell(sim: Sim) -> None:
    dt = sim.params.timestep
    lift = build_lift(sim, LiftSettings(**CABIN))
    inside = [(-0.95, 0.75), (1.09, -0.84), (0.1, 0.3)]
    outside = [(-1.11, 0.84), (1.15, -0.6), (0.4, 0.86), (-0.9, -0.9)]
    things = [box(sim, f"in_{k}", (*to_world(*at), 0.35), (0.04, 0.04, 0.05)) for k, at in enumerate(inside)]
    others = [box(sim, f"out_{k}", (*to_world(*at), 0.35), (0.04, 0.04, 0.05)) for k, at in enumerate(outside)]
    others.append(box(sim, "below", (*MIDDLE, -0.1), (0.04, 0.04, 0.05)))
    # In the room above its floor, and within a step below it.
    things += [box(sim, f"at {z}", (*MIDDLE, z), (0.04, 0.04, 0.05)) for z in (0.3 + 2.05, 0.3 - 0.25)]
    begun = [thing.position[2] for thing in things]
    heights = [thing.position[2] for thing in others]
    told: list[tuple[float, str]] = []
    sim.events.on("lift_arrived", lambda lift, floor: told.append((sim.sim_time, floor)))
    lift.call("top")
    lift.call("mid")
    lift.call("top")
    assert lift.calls == ("top", "mid")
    left = None
    while len(told) < 2:
        before = lift.destination
        sim.step_once()
        if told and left is None and lift.destination != before:
            left = sim.sim_time
        assert sim.sim_time < 60.0
    assert [floor for _, floor in told] == ["top", "mid"] and lift.floor == "mid" and not lift.is_busy
    assert left is not None and CABIN["dwell"] - dt <= left - told[0][0] <= CABIN["dwell"] + 2.5 * dt
    assert [thing.position[2] for thing in things] == pytest.approx([z + 2.8 for z in begun])
    assert [thing.position[2] for thing in others] == pytest.approx(heights)
    assert [
        fs.SimObject.get_pose(sim.get_object(f"CabinDoor_lift_{name}")).z for name in ("front", "side")
    ] == pytest.approx([3.1 + 1.05] * 2)
    assert sim.get_object("ShaftDoor_lift_top_side").position[2] == pytest.approx(6.4 + 1.05)
    # Down it takes along what is below its ceiling only.
    under, over = (box(sim, f"ceiling {z}", (*MIDDLE, 3.1 + z), (0.04, 0.04, 0.05)) for z in (2.09, 2.11))
    lift.call("low")
    while len(told) < 3:
        sim.step_once()
        assert sim.sim_time < 90.0
    assert (under.position[2], over.position[2]) == pytest.approx((0.3 + 2.09, 3.1 + 2.11))


@holds("api:StoreyRouter.site", fault="warehouse/equipment/storeys.py: a shaft is closed as wide as it is deep")
def test_routes_keep_out_of_shafts_on_the_storeys_that_they_pass(sim: Sim) -> None:
    build_lift(sim, LiftSettings(**CABIN))
    grid = Grid(np.ones((60, 60), bool), 0.2, (-3.0, -6.0, 0.3))
    none = LevelGraph("", np.empty((0, 2)), (), (), ())
    heights = {"cellar": -3.3, "low": 0.1, "mid": 3.1, "roof": 9.0}
    levels = tuple(Level(name, z, Site(name, grid), (), none) for name, z in heights.items())
    shaft = LiftShaft("lift", *CABIN["position"], 0.7, 2.2, 1.7, (), {}, "low")
    router = offer_building_routes(sim, Building("house", levels, (shaft,)))
    own = np.abs(in_frame(grid.middles, MIDDLE, 0.7))
    within = (own <= (1.1 + 0.1, 0.85 + 0.1)).all(axis=1)
    near = (np.abs(own - (1.2, 0.95)) < 1e-6).any(axis=1)
    for storey, name in enumerate(heights):
        closed = ~router.site(storey).grid.is_free(np.arange(grid.count))
        expected = within if name in ("low", "mid") else np.zeros_like(within)
        assert np.array_equal(closed[~near], expected[~near]), name
    # What stands up to 0.3 m below a storey is on it.
    for z, number in ((-9.0, 0), (-3.0, 0), (-0.25, 0), (-0.15, 1), (2.79, 1), (2.81, 2), (99.0, 3)):
        assert router.plan.number(z) == number, z
    row = sim.get_object("lift").row
    assert [router.plan.floor_on(row, storey) for storey in range(4)] == [-1, 0, 1, -1]
    # Through its narrowest door, 1.1 m wide, and between walls of 5 cm: of 1.7 m, then of 1.12 m.
    for half, room in ((0.85, 1.1), (0.56, 1.02)):
        sim.features.table("lift").half[row, 1] = half
        for over in (-1e-6, 1e-6):
            radius = 0.5 * room - sim.params.collision_margin + over
            assert isinstance(router.plan.crossing(row, 1, 2, radius), NoRoute) is (over > 0.0)
    assert router.rise(0.2, 3.3) == pytest.approx(3.0)


# ---- several lifts -------------------------------------------------------------------------------------------------

PLACES = {"west": (-6.0, 0.0), "east": (7.0, 0.0)}
RIDERS = 6


@pytest.fixture(scope="module")
def rides() -> Any:
    """Robots that all stand nearer to one of two lifts and go up; where each was after each step, and figures."""
    with Sim(fs.SimulationParams(gui=False, target_rtf=0, timestep=0.1)) as made:
        for name, place in PLACES.items():
            floors: Any = [{"name": "low", "height": 0.0}, {"name": "top", "height": 4.0}]
            doors: Any = [{"name": "front", "y": -1.0, "width": 1.4}]
            build_lift(made, LiftSettings(name=name, position=place, floors=floors, doors=doors, door_time=1.0))
        none = LevelGraph("", np.empty((0, 2)), (), (), ())
        grid = Grid(np.ones((60, 110), bool), 0.2, (-11.0, -9.0, 0.0))
        levels = tuple(Level(name, z, Site(name, grid), (), none) for name, z in (("low", 0.0), ("top", 4.0)))
        shafts = tuple(LiftShaft(name, *place, 0.0, 2.0, 2.0, (), {}, "low") for name, place in PLACES.items())
        offer_building_routes(made, Building("house", levels, shafts))
        body = fs.ShapeParams("cylinder", radius=0.25, height=0.4)
        moves = []
        for number in range(RIDERS):
            pose = fs.Pose((-8.0 + 1.2 * number, -7.0, 0.2))
            settings: Any = {"motion_mode": "differential", "block_on_collision": True}
            agent = made.spawn(fs.AgentSpawnParams(body, body, pose, name=str(number), **settings))
            moves.append(fs.MoveTo(fs.Pose((-5.0 + 1.2 * number, -8.0, 4.2)), route=True))
            agent.execute_action(moves[-1])
        poses = []
        while not all(move.is_complete() for move in moves) and made.sim_time < 400.0:
            made.step_once()
            poses.append([agent.position for agent in made.agents])
        figures = {name: dict(LiftHandle.of(made.get_object(name)).figures) for name in PLACES}
        assert all(move.status is fs.ActionStatus.COMPLETED for move in moves)
        yield np.array(poses), figures


@holds("api:LiftHandle.figures", fault="warehouse/equipment/lift.py: a ride that ends is not counted")
def test_robots_take_the_lift_with_fewer_before_them_and_rides_are_counted(rides: Any) -> None:
    poses, figures = rides
    between = (poses[..., 2] > 0.3) & (poses[..., 2] < 4.1)
    assert between.any(axis=0).all()
    for name, place in PLACES.items():
        inside = (np.abs(poses[..., :2] - place) < 1.0).all(axis=2)
        # Nobody rides with another one, and each ride is one trip.
        assert inside.sum(axis=1).max() == 1
        riders = (between & inside).any(axis=0).sum()
        assert figures[name]["trips"] == riders > 0
        assert inside.any(axis=1).mean() <= figures[name]["utilisation"] <= 1.0
        assert 0.0 <= figures[name]["mean_wait_s"] <= figures[name]["longest_wait_s"] <= 0.1 * len(poses)
    # Those that came last find others before them at the near one.
    assert figures["west"]["longest_wait_s"] > 5.0


@holds("api:MoveTo.status", fault="warehouse/equipment/lift.py: robots on other storeys are in the way of who gets out")
def test_robots_on_other_storeys_are_in_nobodys_way() -> None:
    heights = {"cellar": -4.0, "low": 0.0, "mid": 4.0, "top": 8.0}
    with Sim(fs.SimulationParams(gui=False, target_rtf=0, timestep=0.1)) as made:
        floors: Any = [{"name": name, "height": z} for name, z in heights.items()]
        doors: Any = [{"name": "front", "y": -1.0, "width": 1.4}]
        settings = LiftSettings(name="lift", position=(0.4, 0.3), floors=floors, doors=doors, door_time=1.0)
        build_lift(made, settings)
        grid = Grid(np.ones((40, 40), bool), 0.2, (-4.0, -4.0, 0.0))
        none = LevelGraph("", np.empty((0, 2)), (), (), ())
        levels = tuple(Level(name, z, Site(name, grid), (), none) for name, z in heights.items())
        shaft = LiftShaft("lift", 0.4, 0.3, 0.0, 2.0, 2.0, (), {}, "low")
        offer_building_routes(made, Building("house", levels, (shaft,)))
        body = fs.ShapeParams("cylinder", radius=0.25, height=0.4)
        for z in (heights["cellar"], heights["top"]):
            # Where robots get in and out.
            made.spawn(fs.AgentSpawnParams(body, body, fs.Pose((0.4, -1.3, z + 0.2))))
        rider = made.spawn(
            fs.AgentSpawnParams(body, body, fs.Pose((1.3, -2.6, 0.2)), motion_mode="differential", name="rider")
        )
        move = fs.MoveTo(fs.Pose((-1.7, -2.4, 4.2)), route=True)
        rider.execute_action(move)
        while not move.is_complete() and made.sim_time < 60.0:
            made.step_once()
        assert move.status is fs.ActionStatus.COMPLETED
