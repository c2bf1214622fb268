"""Inverse kinematics step by step, against the documented law written with matrices for arms with skew axes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import rigid
from oracle_rows import holds

import fleet_sim as fs

PLACE = fs.Pose.from_euler(1.7, -0.6, 0.9, 0.3, -0.4, 0.7)


class Joint(NamedTuple):
    """A joint of a description: where it is in the link before, its axis in its own frame, and its limits."""

    kind: str
    xyz: tuple[float, float, float]
    rpy: tuple[float, float, float]
    axis: tuple[float, float, float]
    lower: float
    upper: float


SKEW = (
    Joint("fixed", (0.03, -0.05, 0.21), (0.1, 0.2, -0.3), (1.0, 0.0, 0.0), 0.0, 0.0),
    Joint("revolute", (0.02, 0.04, 0.11), (0.2, -0.1, 0.4), (0.36, 0.48, 0.8), -2.4, 1.9),
    Joint("prismatic", (0.05, -0.03, 0.02), (-0.3, 0.2, 0.6), (0.6, 0.0, 0.8), -0.15, 0.35),
    Joint("continuous", (0.01, 0.07, 0.02), (0.2, 0.3, -0.1), (0.0, 0.6, 0.8), -math.inf, math.inf),
    Joint("revolute", (0.24, 0.03, -0.05), (0.7, -0.2, 0.3), (0.0, 0.8, -0.6), -1.3, 2.1),
    Joint("revolute", (0.17, -0.06, 0.08), (-0.4, 0.3, 0.5), (-0.8, 0.36, 0.48), -1.7, 1.5),
    Joint("revolute", (0.06, 0.11, 0.14), (0.3, 0.6, -0.7), (0.6, -0.8, 0.0), -2.2, 2.6),
    Joint("revolute", (0.05, 0.02, 0.16), (0.5, -0.3, 0.2), (0.48, -0.36, 0.8), -1.9, 2.3),
    Joint("revolute", (-0.03, 0.06, 0.09), (0.1, 0.7, 0.3), (0.0, 0.0, 1.0), -2.5, 2.7),
    Joint("fixed", (0.04, -0.07, 0.09), (0.4, -0.5, 0.6), (1.0, 0.0, 0.0), 0.0, 0.0),
)
STRAIGHT = tuple(
    joint._replace(kind="revolute" if joint.kind == "prismatic" else joint.kind, axis=(0.0, 0.0, 1.0)) for joint in SKEW
)
REST = {"j1": 0.4, "j4": -0.5, "j6": 0.3}


def fixed_frame(joint: Joint) -> np.ndarray:
    out = np.eye(4)
    r, p, y = joint.rpy
    out[:3, :3] = rigid.turn((0, 0, y)) @ rigid.turn((0, p, 0)) @ rigid.turn((r, 0, 0))
    out[:3, 3] = joint.xyz
    return out


class Arm:
    """What `IKParams` documents, by matrices (4, 4), one target at a time, for an arm whose joints stand at `here`."""

    def __init__(self, joints: tuple[Joint, ...], here: dict[str, float], params: fs.IKParams) -> None:
        self.joints, self.params, self.here = joints, params, here
        moving = [f"j{number}" for number, joint in enumerate(joints) if joint.kind in ("revolute", "prismatic")]
        self.free = list(params.ik_joint_names or moving)
        chosen = [joints[int(name[1:])] for name in self.free]
        self.low, self.high = (np.array([joint[end] for joint in chosen]) for end in (4, 5))
        self.rest = np.array([dict(params.rest_posture or ()).get(name, math.nan) for name in self.free])

    def end(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the frame of the last link, and its Jacobian (6, F) in the frame of the base."""
        told = self.here | dict(zip(self.free, values, strict=True))
        frame, moved = np.eye(4), []
        for number, joint in enumerate(self.joints):
            frame = frame @ fixed_frame(joint)
            if joint.kind == "fixed":
                continue
            name, axis, motion = f"j{number}", np.array(joint.axis), np.eye(4)
            if name in self.free:
                moved.append((joint.kind, frame[:3, :3] @ axis, frame[:3, 3]))
            if joint.kind == "prismatic":
                motion[:3, 3] = axis * told[name]
            else:
                motion[:3, :3] = rigid.turn(axis * told[name])
            frame = frame @ motion
        columns = [
            np.concatenate((axis, np.zeros(3)) if kind == "prismatic" else (np.cross(axis, frame[:3, 3] - at), axis))
            for kind, axis, at in moved
        ]
        return frame, np.array(columns).T

    def errors(self, values: np.ndarray, wanted: np.ndarray, turned: bool) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the error (3 or 6,), one radian counting as 0.3 m, the Jacobian of it, and the error's size in rad."""
        frame, jacobian = self.end(values)
        off = wanted[:3, 3] - frame[:3, 3]
        if not turned:
            return off, jacobian[:3], 0.0
        turn = rigid.turned_by(wanted[:3, :3] @ frame[:3, :3].T)
        jacobian[3:] *= 0.3
        return np.concatenate((off, 0.3 * turn)), jacobian, float(np.linalg.norm(turn))

    def descend(self, values: np.ndarray, wanted: np.ndarray, turned: bool) -> tuple[np.ndarray, float, float]:
        best, least, last, waits = (values, math.inf, math.inf), math.inf, math.inf, 0
        for step in range(self.params.max_inner_iterations + 1):
            error, jacobian, angle = self.errors(values, wanted, turned)
            off, square = float(np.linalg.norm(error[:3])), float(error @ error)
            waits = 0 if square < 0.999 * last else waits + 1
            last = min(last, square)
            if square < least:
                best, least = (values, off, angle), square
            small = max(off, angle) <= self.params.residual_threshold
            if small or waits == 8 or step == self.params.max_inner_iterations:
                return best
            values = self.stepped(values, jacobian, error)
        raise AssertionError

    def stepped(self, values: np.ndarray, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        pull = jacobian.T @ error
        stuck = ((values <= self.low) & (pull < 0)) | ((values >= self.high) & (pull > 0))
        jacobian = np.where(stuck, 0.0, jacobian)
        damped = jacobian @ jacobian.T + (0.2 * float(error @ error) + 1e-5) * np.eye(len(error))
        change = jacobian.T @ np.linalg.solve(damped, error)
        return np.clip(values + change / max(1.0, np.abs(change).max()), self.low, self.high)

    def settle(
        self, values: np.ndarray, off: float, angle: float, wanted: np.ndarray, turned: bool
    ) -> tuple[np.ndarray, float, float]:
        """Return joint values nearer to the rest posture, with errors no larger than before, or small."""
        named = ~np.isnan(self.rest)
        goal, waits = np.where(named, self.rest, 0.0), 0
        most = [max(error, self.params.residual_threshold) for error in (off, angle)]
        best, nearest = (values, off, angle), float((((values - goal)[named]) ** 2).sum())
        for _ in range(self.params.max_inner_iterations):
            error, jacobian, angle = self.errors(values, wanted, turned)
            off, apart = float(np.linalg.norm(error[:3])), float(((values - goal)[named] ** 2).sum())
            kept, waits = off <= most[0] and angle <= most[1], waits + 1
            if kept and apart < nearest:
                best, nearest, waits = (values, off, angle), apart, 0
            pull = np.where(named, self.params.rest_gain * (goal - values), 0.0)
            pull *= 0.25 / max(0.25, np.abs(pull).max())
            change = self.projected(jacobian, error, pull)
            stuck = ((values <= self.low) & (change < 0)) | ((values >= self.high) & (change > 0))
            if stuck.any():
                change = self.projected(np.where(stuck, 0.0, jacobian), error, np.where(stuck, 0.0, pull))
            largest = np.abs(change).max()
            values = np.clip(values + change * 0.25 / max(0.25, largest), self.low, self.high)
            if (largest <= 1e-4 and kept) or waits == 16:
                break
        return best

    @staticmethod
    def projected(jacobian: np.ndarray, error: np.ndarray, pull: np.ndarray) -> np.ndarray:
        inverse = jacobian.T @ np.linalg.inv(jacobian @ jacobian.T + 1e-5 * np.eye(len(error)))
        return np.asarray(inverse @ error + (np.eye(len(pull)) - inverse @ jacobian) @ pull)

    def starts(self, values: np.ndarray) -> list[list[np.ndarray]]:
        """Return the start values of the first round, and one by one those of the others."""
        given, count, bounded = self.params, len(self.free), np.isfinite(self.low)
        low, high = np.where(bounded, self.low, 0.0), np.where(bounded, self.high, 0.0)
        first = [np.clip(values, self.low, self.high)]
        if not np.isnan(self.rest).all():
            first.append(np.clip(np.where(np.isnan(self.rest), values, self.rest), self.low, self.high))
        # The numbers of the sequence of Roberts: powers of the root of x^(count + 1) = x + 1.
        ratio = max(np.roots([1.0, *[0.0] * (count - 1), -1.0, -1.0]).real)
        more = range(1, 1 + (len(first) + len(given.seed_quartiles)) * (given.max_outer_iterations - 1))
        shares = [*given.seed_quartiles, *((0.5 + k * ratio ** -np.arange(1.0, count + 1)) % 1.0 for k in more)]
        spread = [np.where(bounded, low + share * (high - low), values) for share in shares]
        quartiles = len(given.seed_quartiles)
        return [first + spread[:quartiles], *([start] for start in spread[quartiles:])]

    def solve(self, wanted: np.ndarray, turned: bool) -> tuple[np.ndarray, float, float]:
        """Return the best joint values, and their errors in m and rad."""
        values, near = np.array([self.here[name] for name in self.free]), self.params.convergence_threshold
        best = (values, math.inf, math.inf)
        # The end is never further from the first joint than all links and slides that are between them.
        room = sum(float(np.linalg.norm(joint.xyz)) for joint in self.joints[2:])
        room += sum(max(-joint.lower, joint.upper) for joint in self.joints if joint.kind == "prismatic")
        first = (fixed_frame(self.joints[0]) @ fixed_frame(self.joints[1]))[:3, 3]
        inside = float(np.linalg.norm(wanted[:3, 3] - first)) <= room
        for number, starts in enumerate(self.starts(values)):
            for start in starts:
                if max(best[1:]) <= near or (number and not inside):
                    continue
                found = self.descend(start, wanted, turned)
                if found[1] + 0.3 * found[2] < best[1] + 0.3 * best[2]:
                    best = found
        if not np.isnan(self.rest).all() and max(best[1:]) <= near:
            best = self.settle(*best, wanted, turned)
        return best


def robot_of(folder: Path, joints: tuple[Joint, ...], params: fs.IKParams) -> tuple[Any, fs.Agent]:
    parts = ['<link name="l"/>']
    for number, joint in enumerate(joints):
        where = " ".join(f'{name}="{" ".join(map(str, joint[place]))}"' for name, place in (("xyz", 1), ("rpy", 2)))
        limit = f'lower="{joint.lower}" upper="{joint.upper}"' if joint.kind in ("revolute", "prismatic") else ""
        parts.append(
            f'<link name="l{number}"/><joint name="j{number}" type="{joint.kind}"><origin {where}/><parent '
            f'link="l{number - 1 if number else ""}"/><child link="l{number}"/><axis '
            f'xyz="{" ".join(map(str, joint.axis))}"/><limit {limit} velocity="1" effort="1"/></joint>'
        )
    path = folder / "arm.urdf"
    path.write_text(f'<robot name="arm">{"".join(parts)}</robot>')
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0, compiled_code="never"))
    spawn = fs.AgentSpawnParams(urdf_path=str(path), use_fixed_base=True, initial_pose=PLACE, ik_params=params)
    return sim, sim.spawn(spawn)


def quaternion_of(matrix: np.ndarray) -> tuple[float, ...]:
    vector = rigid.turned_by(matrix)
    half = 0.5 * float(np.linalg.norm(vector))
    return (*(vector * math.sin(half) / (2.0 * half)), math.cos(half))


def check(robot: fs.Agent, arm: Arm, wanted: np.ndarray, turned: bool) -> tuple[float, float]:
    """Compare a solution with that of `arm`; return its errors."""
    world = rigid.frame_of(PLACE) @ wanted
    pose = quaternion_of(world[:3, :3]) if turned else None
    found = robot.find_reach(tuple(world[:3, 3]), pose, "l9")
    values, off, angle = arm.solve(wanted, turned)
    assert found.values == pytest.approx(values, abs=1e-6)
    assert found.position_errors[0] == pytest.approx(off, abs=1e-7)
    assert found.orientation_errors[0] == pytest.approx(angle, abs=1e-7)
    return off, angle


def targets(arm: Arm, rng: np.random.Generator) -> list[np.ndarray]:
    """Return ends at joint values near and far, one at a place that it cannot have so, and one out of reach."""
    low, high = np.maximum(arm.low, -2.0), np.minimum(arm.high, 2.0)
    out = [arm.end(low + shares * (high - low))[0] for shares in rng.uniform(0.02, 0.98, (3, len(low)))]
    for distance in (0.93, 1.9):
        out.append(out[0].copy())
        out[-1][:3, 3] = distance * np.array([0.48, -0.6, 0.64])
    return out


STEPS = [{"max_inner_iterations": steps, "seed_quartiles": (), "max_outer_iterations": 1} for steps in (1, 3, 45)]
ROUNDS = {"seed_quartiles": (0.3, 0.8), "max_outer_iterations": 2, "max_inner_iterations": 12}
CASES: list[tuple[tuple[Joint, ...], dict[str, Any]]] = [
    *((SKEW, case) for case in STEPS),
    *((STRAIGHT, case | {"rest_posture": REST}) for case in STEPS),
    (SKEW, ROUNDS),
    (SKEW, ROUNDS | {"ik_joint_names": ("j1", "j3", "j4", "j5", "j6", "j7", "j8"), "rest_posture": REST}),
    (SKEW, STEPS[2] | {"rest_posture": REST, "rest_gain": 0.3, "residual_threshold": 0.02}),
]


@pytest.mark.parametrize(("joints", "settings"), CASES)
@holds(
    "api:Agent.find_reach", fault="models/kinematics/inverse.py: DAMPING is 0.19 in place of 0.2",
)  # fmt: skip
def test_each_step_and_start_is_that_of_the_law(tmp_path: Path, joints: Any, settings: dict[str, Any]) -> None:
    rng = np.random.default_rng(8)
    params = fs.IKParams(**settings)
    sim, robot = robot_of(tmp_path, joints, params)
    for beyond in (0.0,) if len(settings) > 4 else (0.0, 0.3):
        ends = [(max(joint.lower, -2.0), min(joint.upper, 2.0)) for joint in joints]
        here = {
            f"j{number}": float(rng.uniform(*ends[number]))
            for number, joint in enumerate(joints)
            if joint.kind != "fixed"
        }
        robot.set_joint_positions(here)
        if beyond:
            # As an engine may leave a joint.
            here["j1"] = joints[1].upper + beyond
            sim.world.joints.position[sim.world.robots.joint_start[robot.row]] = here["j1"]
        arm = Arm(joints, here, params)
        for wanted in targets(arm, rng):
            for turned in (False, True):
                check(robot, arm, wanted, turned)
    sim.close()


@holds(
    "api:Agent.find_reach", fault="models/kinematics/inverse.py: a half turn takes its axis from the shortest column",
)  # fmt: skip
def test_errors_of_any_turn_are_its_angle(tmp_path: Path) -> None:
    """With a large threshold the arm stays: the error of the orientation is the turn that is asked for."""
    sim, robot = robot_of(tmp_path, SKEW, fs.IKParams(residual_threshold=99.0, convergence_threshold=99.0))
    params = fs.IKParams(max_inner_iterations=1, max_outer_iterations=1, seed_quartiles=())
    other, end = robot_of(tmp_path, SKEW, params)
    here = {f"j{number}": 0.1 + 0.03 * number for number in range(1, 9)}
    for each in (robot, end):
        each.set_joint_positions(here)
    arm = Arm(SKEW, here, params)
    start = np.array([here[name] for name in arm.free])
    place, base = rigid.frame_of(robot.get_link_pose("l9")), rigid.frame_of(PLACE)[:3, :3]
    for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.36, -0.48, 0.8), (0.8, 0.6, 0.0)):
        for angle in (1e-13, 3e-9, 1e-4, 0.4, 1.57, 2.9, math.pi - 1e-3, math.pi - 3e-8, math.pi):
            # Axes of the base are the world's, turned.
            about = base @ np.array(axis)
            pose = composed((*(about * math.sin(angle / 2)), math.cos(angle / 2)), robot)
            found = robot.find_reach(tuple(place[:3, 3]), pose, "l9")
            assert found.position_errors[0] == pytest.approx(0.0, abs=1e-12)
            assert found.orientation_errors[0] == pytest.approx(angle, abs=2e-7)
            if angle < 0.4:
                continue
            # One step towards it, after half a turn one way or the other.
            error, jacobian = np.concatenate((np.zeros(3), 0.3 * angle * np.array(axis))), arm.end(start)[1]
            jacobian[3:] *= 0.3
            ways = [arm.stepped(start, jacobian, sign * error) for sign in ((1.0, -1.0) if angle > 3.1415 else (1.0,))]
            moved = end.find_reach(tuple(place[:3, 3]), pose, "l9").values
            assert min(float(np.abs(moved - way).max()) for way in ways) < 1e-6
    sim.close()
    other.close()


def composed(one: tuple[float, ...], robot: fs.Agent) -> tuple[float, ...]:
    """Return the quaternion `one` times that of the last link."""
    turn, other = np.array(one), np.array(robot.get_link_pose("l9").orientation)
    vector = turn[3] * other[:3] + other[3] * turn[:3] + np.cross(turn[:3], other[:3])
    return (*vector.tolist(), float(turn[3] * other[3] - turn[:3] @ other[:3]))
