"""How robots that cannot move sideways choose their speeds: by columns, and in a world by what it was told of each."""

from __future__ import annotations

import cmath
import math
from dataclasses import replace

import numpy as np
import pytest
from drivable_ways import Body, Box, Scene, choose
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.robots.motion import evasion


def scene_of(seed: int, dt: float) -> tuple[Scene, evasion.Choice]:
    """Robots in a narrow place: some stand before others, some turn at their goals, some are in a jam."""
    rng = np.random.default_rng(seed)
    bodies: list[Body] = []
    while len(bodies) < 8:
        at = complex(*rng.uniform(-1.3, 1.3, 2))
        radius = rng.uniform(0.15, 0.3)
        if any(abs(at - b.at) < radius + b.radius + 0.02 for b in bodies):
            continue
        target = at + cmath.rect(rng.uniform(0.3, 4.0), rng.uniform(-3, 3))
        stands = rng.uniform() < 0.5
        yaw = cmath.phase(target - at) + (rng.uniform(-0.14, 0.14) if stands else rng.uniform(-2, 2))
        v, w = (0.0, 0.0) if stands else (rng.uniform(-0.2, 0.8), rng.uniform(-0.9, 0.9))
        most = rng.uniform(0.5, 1.3), rng.uniform(0.6, 1.7), rng.uniform(0.8, 2.0), rng.uniform(1.1, 3.0)
        heading = v * cmath.exp(1j * yaw)
        bodies.append(Body(rng.uniform() < 0.8, at, yaw, v, w, heading, radius, *most, rng.uniform(0.8, 2.4), target))
    boxes = [Box(complex(*rng.uniform(-2, 2, 2)), rng.uniform(-3, 3), complex(*rng.uniform(0.1, 0.5, 2))) for _ in "ab"]
    boxes = [box for box in boxes if all(box.gap(body.at) > 0.0 for body in bodies)]
    for i, body in enumerate(bodies):
        body.others = [j for j, b in enumerate(bodies) if j != i and abs(b.at - body.at) < 2.2]
        body.boxes = [k for k, box in enumerate(boxes) if box.gap(body.at) < 2.0]
    count = len(bodies)
    flags = rng.uniform(size=(4, count)) < np.array([[0.6], [0.1], [0.7], [0.2]])
    none = np.zeros(count)
    know = evasion.Choice(*flags[:3], rng.uniform(-3, 3, count), flags[3], np.ones(count, bool), none, none.copy())
    return Scene(bodies, boxes, dt), know


def as_columns(scene: Scene) -> tuple[evasion.Unicycles, evasion.StandingBoxes]:
    bodies, at = scene.bodies, lambda values: np.array(list(values), float)
    lists = [[i for b in bodies for i in b.others], [k for b in bodies for k in b.boxes]]
    begins = [np.cumsum([0] + [len(b.others) for b in bodies]), np.cumsum([0] + [len(b.boxes) for b in bodies])]
    names = ("radius", "speed", "accel", "spin", "spin_accel", "horizon")
    crowd = evasion.Unicycles(
        np.array([b.steered for b in bodies]),
        at(b.at.real for b in bodies), at(b.at.imag for b in bodies),
        at(b.yaw for b in bodies), at(b.v for b in bodies), at(b.w for b in bodies),
        at(b.velocity.real for b in bodies), at(b.velocity.imag for b in bodies),
        *(at(getattr(b, name) for b in bodies) for name in names),
        at(b.target.real for b in bodies), at(b.target.imag for b in bodies),
        begins[0], np.array(lists[0], int),
    )  # fmt: skip
    boxes = [scene.boxes[k] for k in lists[1]]
    parts = [
        (b.middle.real, b.middle.imag, math.cos(b.turn), math.sin(b.turn), b.half.real, b.half.imag) for b in boxes
    ]
    return crowd, evasion.StandingBoxes(begins[1], *np.array(parts, float).reshape(-1, 6).T)


@pytest.mark.parametrize("dt", [0.05, 0.31])
@holds(
    "api:AgentSpawnParams.controller.avoidance",
    fault="robots/motion/evasion.py: a robot is in a jam by how far others are along y alone",
)  # fmt: skip
def test_robots_take_the_cheapest_way_that_is_clear(dt: float) -> None:
    kinds = []
    for seed in range(24):
        scene, know = scene_of(seed, dt)
        mine = Scene([replace(body) for body in scene.bodies], scene.boxes, dt)
        expected = choose(mine, know._replace(held=know.held.copy()))
        crowd, boxes = as_columns(scene)
        evasion.choose_speeds.in_python(crowd, boxes, know, dt)
        for i, (held, law, v, w) in enumerate(expected):
            told = bool(know.held[i]), bool(know.by_law[i])
            assert told == (held, law), (seed, i)
            if not law:
                assert (know.v[i], know.w[i]) == pytest.approx((v, w), abs=1e-9), (seed, i)
            kinds.append((scene.bodies[i].steered, held, law))
    assert len(set(kinds)) >= 5


def known(scene: Scene) -> evasion.Choice:
    """What is known of robots on their way that were not held before."""
    off = [abs(((b.target - b.at) * cmath.exp(-1j * b.yaw)).imag) > 1e-6 * abs(b.target - b.at) for b in scene.bodies]
    astray = [abs(b.v) > 1e-3 and (o or abs(b.w) > 1e-6) for b, o in zip(scene.bodies, off, strict=True)]
    no, none = np.zeros(len(off), bool), np.zeros(len(off))
    return evasion.Choice(~np.array(astray), no, no, none, no, ~no, none, none.copy())


@pytest.mark.parametrize("dt", [0.05])
@holds(
    "api:AgentSpawnParams.controller.avoidance", "api:AgentSpawnParams.max_linear_accel",
    fault="robots/motion/evasion.py: robots get the largest acceleration, `np.maximum(accel, _QUICKEST)`",
)  # fmt: skip
def test_robots_of_a_world_choose_by_their_own_sizes_limits_and_goals(dt: float) -> None:
    sim = fs.MultiRobotSimulationCore(
        fs.SimulationParams(gui=False, target_rtf=0, timestep=dt, enable_floor=False, compiled_code="never")
    )
    chosen = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        sim.clear()
        bodies, robots, signs = [], [], []
        for index in range(5):
            angle = 2.0 * np.pi * (index + 0.2 * rng.uniform()) / 5
            at = rng.uniform(1.75, 1.9) * cmath.exp(1j * angle)
            avoids, direction = index < 3, ("forward", "backward", "auto")[index % 3]
            radius, horizon = rng.uniform(0.12, 0.2), rng.uniform(1.9, 2.7) if avoids else 0.0
            speed, accel, spin, spin_accel = rng.uniform((0.9, 0.6, 1.0, 1.1), (1.3, 1.9, 2.0, 3.0))
            target = -at * cmath.exp(1j * rng.uniform(-0.5, 0.5)) * 1.5
            yaw = cmath.phase(target - at) + rng.uniform(-0.6, 0.6) + (math.pi if direction == "backward" else 0.0)
            shape = fs.ShapeParams("cylinder", radius=radius, height=0.2)
            robot = sim.spawn(fs.AgentSpawnParams(
                shape, shape, fs.Pose.from_yaw(at.real, at.imag, 0.1, yaw), motion_mode="differential",
                controller={"type": "differential", "avoidance": horizon}, max_linear_vel=speed,
                max_linear_accel=accel, max_angular_vel=spin, max_angular_accel=spin_accel,
            ))  # fmt: skip
            if avoids:
                robot.set_goal_pose(fs.Pose.from_yaw(target.real, target.imag, 0.1, 0.4), direction=direction)
            elif index == 3:
                robot.set_velocity(0.4, 0.0, wz=0.3)
            ahead = (target - at) * cmath.exp(-1j * yaw)
            signs.append(-1.0 if direction == "backward" or (direction == "auto" and ahead.real < 0.0) else 1.0)
            bodies.append(Body(avoids, at, yaw, 0.0, 0.0, 0j, radius, speed, accel, spin, spin_accel, horizon, target))
            robots.append(robot)
        half, turn, place = rng.uniform(0.1, 0.3, 2), rng.uniform(-3.0, 3.0), 0.3 * complex(*rng.uniform(-1, 1, 2))
        block = fs.ShapeParams("box", half_extents=(*half, 0.1))
        sim.spawn(fs.SimObjectSpawnParams(block, block, fs.Pose.from_yaw(place.real, place.imag, 0.1, turn), mass=0.0))
        boxes = [Box(place, turn, complex(*half))]
        for _ in range(round(1.4 / dt)):
            for i, (body, robot, sign) in enumerate(zip(bodies, robots, signs, strict=True)):
                body.at, body.velocity = (complex(*values[:2]) for values in (robot.position, robot.velocity))
                body.yaw = robot.get_pose().yaw + (0.0 if sign > 0.0 else math.pi)
                body.v = (body.velocity * cmath.exp(-1j * body.yaw)).real
                body.w = float(robot.angular_velocity)
                body.others, body.boxes = [j for j in range(len(bodies)) if j != i], [0]
            # Whether one leaves a jam is drawn: nobody is in one where nobody that is near stands.
            still = [b for b in bodies[:3] if abs(b.v) < 0.2]
            if any(0.0 < abs(b.at - s.at) < 4.0 * (b.radius + s.radius) for b in bodies[:3] for s in still):
                break
            sim.step_once()
            scene = Scene([replace(body) for body in bodies], boxes, dt)
            found = choose(scene, known(scene))
            for robot, sign, (_, by_law, v, w), body in zip(robots, signs, found, bodies, strict=True):
                if body.steered and not by_law:
                    heading = cmath.exp(1j * robot.get_pose().yaw)
                    told = (complex(*robot.velocity[:2]) / heading).real, robot.angular_velocity
                    assert told == pytest.approx((sign * v, w), abs=1e-9)
                    chosen += 1
    assert chosen > 15
