"""Actions of kinematic robots against closed forms: trapezoids of speed, even braking, what one step can do."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from oracle_rows import holds

import fleet_sim as fs

Floats = npt.NDArray[np.float64]
FORMS = ("always", "never")
"""Of `compiled_code`: both forms of each law are held to the same numbers."""


def build(step: float, code: str = "auto") -> fs.MultiRobotSimulationCore:
    if code == "always":
        pytest.importorskip("numba")
    given = {"gui": False, "timestep": step, "target_rtf": 0, "collision_check_frequency": 0.0}
    return fs.MultiRobotSimulationCore(fs.SimulationParams(**given, compiled_code=code))


def robot(
    sim: fs.MultiRobotSimulationCore, mode: str, x: float = -0.4, y: float = 0.3, yaw: float = 0.7, **more: Any
) -> Any:
    shape = fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.1))
    limits = {"max_linear_vel": 1.3, "max_linear_accel": 0.9, "max_angular_vel": 1.1, "max_angular_accel": 1.7}
    pose = fs.Pose.from_yaw(x, y, 0.1, yaw=yaw)
    return sim.spawn(fs.AgentSpawnParams(shape, shape, pose, motion_mode=mode, **{**limits, **more}))


def trapezoid(way: float, speed: float, accel: float) -> float:
    """Return the shortest time for a way from rest to rest."""
    return way / speed + speed / accel if way * accel >= speed * speed else 2.0 * math.sqrt(way / accel)


def run(sim: fs.MultiRobotSimulationCore, agent: Any, action: Any) -> Floats:
    """Run an action to its end; return x, y, yaw and their velocities after each step (N, 6)."""
    agent.add_action(action)
    seen = [state(agent)]
    while not action.is_complete() and action.get_duration() < 90.0:
        sim.step_once()
        seen.append(state(agent))
    assert action.status == "completed"
    return np.array(seen)


def state(agent: Any) -> list[float]:
    pose = agent.get_pose()
    return [pose.x, pose.y, pose.yaw, *agent.velocity[:2], agent.angular_velocity]


def far(agent: Any, way: Floats) -> fs.Pose:
    """Return the pose of a robot, `way` (2,) farther."""
    pose = agent.get_pose()
    return fs.Pose.from_yaw(pose.x + way[0], pose.y + way[1], 0.1, yaw=0.7)


def check_steps(seen: Floats, accel: float, spin_accel: float, step: float) -> None:
    """Check that velocities change by what the limits allow, and that each step goes the mean of both ends."""
    change = np.diff(seen[:, 3:], axis=0)
    assert (np.hypot(change[:, 0], change[:, 1]) <= accel * step * (1 + 1e-9)).all()
    assert (np.abs(change[:, 2]) <= spin_accel * step * (1 + 1e-9)).all()


# ---- by a distance or an angle ---------------------------------------------------------------------------------------


@holds("api:DriveByAction", fault="robots/actions/follow.py: sqrt(2 a left) in place of whole steps of braking")
@pytest.mark.parametrize("step", [0.05, 0.013])
@pytest.mark.parametrize("accel", [2.0, 0.5, 0.3])
@pytest.mark.parametrize(("way", "speed"), [(2.0, 1.0), (-0.37, -0.8), (0.004, 0.9)])
def test_drive_by_ends_at_the_distance_and_not_a_step_later_than_it_could(
    step: float, accel: float, way: float, speed: float
) -> None:
    for mode in ("differential", "omnidirectional"):
        with build(step) as sim:
            agent, action = robot(sim, mode, max_linear_accel=accel), fs.DriveByAction((way, 0.0, 0.0), speed)
            seen = run(sim, agent, action)
        end = np.array([-0.4 + way * math.cos(0.7), 0.3 + way * math.sin(0.7), 0.7, 0.0, 0.0, 0.0])
        assert seen[-1] == pytest.approx(end, abs=1e-7)
        along = math.copysign(1.0, way) * ((seen[:, :2] - seen[0, :2]) @ [math.cos(0.7), math.sin(0.7)])
        assert along.max() <= abs(way) + 1e-9 and (np.diff(along) >= -1e-12).all()
        check_steps(seen, accel, 1.7, step)
        ideal = trapezoid(abs(way), abs(speed), accel)
        assert ideal - 1e-9 <= action.get_duration() <= ideal + (2 if abs(way) < 0.01 else 1) * step + 1e-9


@holds("api:TurnAction", fault="robots/actions/follow.py: sqrt(2 a left) in place of whole steps of braking")
@pytest.mark.parametrize("step", [0.05, 0.013])
@pytest.mark.parametrize("angle", [2.3, -7.9, 0.02])
def test_turn_ends_at_the_angle(step: float, angle: float) -> None:
    with build(step) as sim:
        agent, action = robot(sim, "differential"), fs.TurnAction(angle, 0.8)
        seen = run(sim, agent, action)
    assert math.remainder(seen[-1, 2] - 0.7 - angle, 2 * math.pi) == pytest.approx(0.0, abs=1e-7)
    turned = math.copysign(1.0, angle) * (np.unwrap(seen[:, 2]) - 0.7)
    assert turned.max() <= abs(angle) + 1e-9 and seen[-1, :2] == pytest.approx((-0.4, 0.3), abs=1e-12)
    check_steps(seen, 0.9, 1.7, step)
    ideal = trapezoid(abs(angle), 0.8, 1.7)
    assert ideal - 1e-9 <= action.get_duration() <= ideal + 2 * step + 1e-9


@holds("api:DriveByAction.progress", "api:TurnAction.progress", fault="robots/actions/follow.py: what is left is 0")
@pytest.mark.parametrize("turning", [False, True])
def test_feedback_of_a_motion_by_a_distance_or_an_angle_is_what_is_made_and_left_of_it(turning: bool) -> None:
    with build(0.037) as sim:
        agent = robot(sim, "differential")
        action = fs.TurnAction(-2.3, 0.8) if turning else fs.DriveByAction((-1.3, 0.0, 0.0), -0.7)
        agent.add_action(action)
        way, count = (2.3 if turning else 1.3), 0
        sim.step_once()
        while not action.is_complete() and sim.sim_time < 20.0:
            pose, count = agent.get_pose(), count + 1
            made = (
                abs(math.remainder(pose.yaw - 0.7, 2 * math.pi)) if turning else math.hypot(pose.x + 0.4, pose.y - 0.3)
            )
            said = action.progress(agent)
            # Looked at in each step before the robot moves on: of the step before.
            sim.step_once()
            later = action.progress(agent)
            assert (said["phase"], said["blocked_by"]) == ("moving", "")
            assert said["done"] + said["distance_left"] == pytest.approx(way)
            assert later["done"] == pytest.approx(made, abs=1e-9)
        assert count > 20 and later["distance_left"] == pytest.approx(0.0, abs=1e-6)


# ---- to poses --------------------------------------------------------------------------------------------------------


@holds("api:MoveTo", "api:MoveAction", fault="robots/motion/path.py: braking counts on 0.9 of the acceleration")
@pytest.mark.parametrize("code", FORMS)
@pytest.mark.parametrize("step", [0.05, 0.013])
def test_paths_take_the_time_of_their_trapezoids_and_end_at_the_pose(step: float, code: str) -> None:
    corners = [(-0.4, 0.3), (2.1, 1.7), (0.9, 3.2)]
    legs = [(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(corners)]
    headings = [0.7, *(math.atan2(dy, dx) for dx, dy in legs), -0.4]
    drives = [trapezoid(math.hypot(*leg), 1.3, 0.9) for leg in legs]
    turns = [abs(math.remainder(b - a, 2 * math.pi)) for a, b in itertools.pairwise(headings)]
    with build(step, code) as sim:
        agent = robot(sim, "differential")
        path = [fs.Pose.from_yaw(x, y, 0.1, yaw=-0.4) for x, y in corners[1:]]
        action = fs.MoveAction(path)
        seen = run(sim, agent, action)
        ideal = sum(drives) + sum(trapezoid(turn, 1.1, 1.7) for turn in turns)
        # Whole steps: each of the two lines and three turns ends less than one later than it could.
        assert ideal - 1e-9 <= action.get_duration() <= ideal + 5 * step
        assert agent.get_pose().position == pytest.approx((0.9, 3.2, 0.1), abs=1e-12)
        assert seen[-1, 2:] == pytest.approx((-0.4, 0, 0, 0), abs=1e-12)
        check_steps(seen, 0.9, 1.7, step)
        other = robot(sim, "omnidirectional")
        action = fs.MoveTo(fs.Pose.from_yaw(2.1, 1.7, 0.1, yaw=1.2))
        seen = run(sim, other, action)
        assert drives[0] - 1e-9 <= action.get_duration() <= drives[0] + step
        assert seen[-1] == pytest.approx((2.1, 1.7, 1.2, 0, 0, 0), abs=1e-12)
        check_steps(seen, 0.9, 1.7, step)


@holds("api:Agent.velocity", fault="robots/motion/path.py: can_stop allows rates up to 2")
@pytest.mark.parametrize("code", FORMS)
@pytest.mark.parametrize("mode", ["differential", "omnidirectional"])
def test_no_robot_stops_from_a_speed_at_which_it_cannot(mode: str, code: str) -> None:
    """Goals a fraction of a step ahead of robots that drive: also where even braking would just reach them."""
    step, accel, rng = 0.05, 0.9, np.random.default_rng(5)
    with build(step, code) as sim:
        fleet = [robot(sim, mode, y=3.0 * number, yaw=0.7, max_linear_vel=3.0) for number in range(60)]
        speeds = rng.uniform(0.005, 0.5, 60)
        for agent, speed in zip(fleet, speeds, strict=True):
            agent.set_velocity(float(speed))
        for _ in range(60):
            sim.step_once()
        heading = np.array([math.cos(0.7), math.sin(0.7)])
        for agent in fleet[::3]:
            agent.set_goal(far(agent, 9.0 * heading))
        sim.step_once()
        for number, agent in enumerate(fleet):
            # Many of them exactly where it would stop if a step could do that.
            share = 1.0 if number % 2 else rng.uniform(0.2, 1.8)
            way = 0.5 * math.hypot(*agent.velocity[:2]) * step * share * heading
            if number % 3:
                agent.set_goal(far(agent, way))
            else:
                # As if it was pushed: it is on its way already, and comes to its goal at another speed than it would.
                agent.set_pose(fs.Pose.from_yaw(*(np.array(agent.goal_pose.position[:2]) - way), 0.1, yaw=0.7))
        before = [np.array(state(agent)) for agent in fleet]
        for _ in range(200):
            sim.step_once()
            after = [np.array(state(agent)) for agent in fleet]
            for was, now in zip(before, after, strict=True):
                speed, most = math.hypot(was[3], was[4]), accel * step
                change = math.hypot(now[3] - was[3], now[4] - was[4])
                assert change <= most * (1 + 1e-9)
                # From one velocity to another in a step: at most this far from where even acceleration leads.
                mean = was[:2] + 0.5 * step * (was[3:5] + now[3:5])
                spare = 0.25 * step * most * (1.0 - min(change / most, 1.0) ** 2)
                assert math.hypot(*(now[:2] - mean)) <= spare + 1e-9, (speed, change)
            before = after
        assert all(agent.is_goal_reached() for agent in fleet)


@holds(
    "api:Agent.angular_velocity",
    "ros:nav_msgs/Odometry.pose.pose.orientation",
    fault="robots/motion/driving.py: 0.51 for 0.5",
)
@pytest.mark.parametrize("code", FORMS)
@pytest.mark.parametrize("step", [0.05, 0.013])
def test_a_robot_that_spins_while_it_drives_brakes_evenly_to_rest(step: float, code: str) -> None:
    spin, brake = 1.04, 0.85
    with build(step, code) as sim:
        agent = robot(sim, "omnidirectional", max_angular_accel=brake)
        agent.set_velocity(0.3, 0.2, wz=spin)
        while agent.angular_velocity < spin:
            sim.step_once()
        yaw = agent.get_pose().yaw
        agent.set_path([fs.Pose((6.0, 4.0, 0.1))], final_orientation_align=False)
        while agent.angular_velocity:
            sim.step_once()
        ended = agent.get_pose().yaw
        # Whole steps of even braking, and one that takes what is left.
        whole = math.floor(spin / (brake * step))
        rest = spin - whole * brake * step
        braked = 0.5 * (spin + rest) * whole * step + 0.5 * rest * step
        assert math.remainder(ended - yaw - braked, 2 * math.pi) == pytest.approx(0.0, abs=1e-9)
        while agent.is_moving:
            sim.step_once()
        assert agent.get_pose().position == pytest.approx((6.0, 4.0, 0.1), abs=1e-12)
        assert agent.get_pose().yaw == pytest.approx(ended, abs=1e-12)


# ---- objects and time ------------------------------------------------------------------------------------------------


@holds(
    "api:Pick",
    "api:Drop",
    "api:Wait",
    fault="robots/actions/pick_and_drop.py: the robot drives to the place without its offset",
)
@pytest.mark.parametrize("step", [0.05, 0.013])
def test_transfers_and_waits_take_the_time_of_their_ways(step: float) -> None:
    with build(step) as sim:
        agent = robot(sim, "omnidirectional", max_angular_vel=3.0, max_angular_accel=9.0)
        shape = fs.ShapeParams("box", half_extents=(0.1, 0.15, 0.05))
        crate = sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_yaw(2.6, 1.9, 0.4, yaw=0.9), name="crate"))
        held = fs.Pose.from_yaw(0.2, -0.1, 0.3, yaw=0.5)
        pick = fs.Pick(crate, pick_offset=0.35, approach_offset=1.1, attach_relative_pose=held)
        line = math.atan2(1.9 - 0.3, 2.6 + 0.4)
        far = math.hypot(3.0, 1.6)
        run(sim, agent, pick)
        ways = (far - 1.1, 0.75, 0.75)
        ideal = sum(trapezoid(way, 1.3, 0.9) for way in ways)
        assert ideal - 1e-9 <= pick.get_duration() <= ideal + 3 * step
        home = (2.6 - 1.1 * math.cos(line), 1.9 - 1.1 * math.sin(line))
        pose, load = agent.get_pose(), crate.get_pose()
        assert (*pose.position, pose.yaw) == pytest.approx((*home, 0.1, line), abs=1e-9)
        expected = (
            home[0] + 0.2 * math.cos(line) + 0.1 * math.sin(line),
            home[1] + 0.2 * math.sin(line) - 0.1 * math.cos(line),
        )
        assert (*load.position, load.yaw) == pytest.approx((*expected, 0.4, line + 0.5), abs=1e-9)
        drop = fs.Drop(fs.Pose.from_yaw(-1.7, 2.2, 0.8, yaw=-1.1), drop_offset=0.45, approach_offset=0.9)
        run(sim, agent, drop)
        back = math.hypot(home[0] + 1.7, home[1] - 2.2)
        ideal = trapezoid(back - 0.9, 1.3, 0.9) + 2 * trapezoid(0.45, 1.3, 0.9)
        assert ideal - 1e-9 <= drop.get_duration() <= ideal + 3 * step
        load = crate.get_pose()
        assert (*load.position, load.yaw) == pytest.approx((-1.7, 2.2, 0.8, -1.1), abs=1e-9)
        assert crate.attached_to is None
        wait = fs.Wait(1.37)
        run(sim, agent, wait)
        assert 1.37 - 1e-9 <= wait.get_duration() <= 1.37 + step


@holds("api:Action.stop", fault="robots/actions/action.py: stop() of an action that runs does nothing")
@pytest.mark.parametrize("begin", ["start", "execute"])
def test_stop_ends_an_action_that_was_begun_by_hand(begin: str) -> None:
    for make in (
        lambda: fs.MoveTo(fs.Pose((5.0, 2.0, 0.1))),
        lambda: fs.DriveByAction((3.0, 0, 0), 1.0),
        lambda: fs.TurnAction(2.0),
    ):
        with build(0.05) as sim:
            agent, action = robot(sim, "omnidirectional"), make()
            for _ in range(8):
                action.start(agent) if begin == "start" and action.status == "not_started" else None
                action.update(agent, 0.05) if begin == "start" else action.execute(agent, 0.05)
                sim.step_once()
            assert action.status == "in_progress" and agent.is_moving
            action.stop(agent)
            there = state(agent)
            for _ in range(40):
                sim.step_once()
            assert (action.status, action.cause) == ("cancelled", "cancelled")
            assert state(agent) == there and there[3:] == [0.0, 0.0, 0.0]
            action.stop(agent)
            assert action.status == "cancelled"


@holds("api:Pick.reach", fault="robots/attachments.py: out_of_reach compares with twice the reach")
def test_a_pick_without_approach_and_attach_take_objects_by_one_rule() -> None:
    with build(0.05) as sim:
        agent = robot(sim, "omnidirectional", name="amr")
        shape = fs.ShapeParams("sphere", radius=0.1)
        distance = math.sqrt(2.1**2 + 1.4**2 + 0.3**2)
        for reach, taken in ((None, True), (distance + 1e-6, True), (distance - 1e-6, False)):
            for take in ("pick", "attach"):
                thing = sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose((1.7, 1.7, 0.4)), name="thing"))
                if take == "pick":
                    action = fs.Pick(thing, use_approach=False, reach=reach)
                    agent.add_action(action)
                    sim.step_once()
                    assert (action.status, action.cause) == (
                        ("completed", None) if taken else ("failed", "unreachable")
                    )
                else:
                    ack = sim.dispatcher.dispatch(fs.Attach(name="amr", object_name="thing", reach=reach))
                    assert ack.ok == taken
                assert (thing.attached_to == agent) == taken
                sim.remove_object(thing)
