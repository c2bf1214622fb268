"""An arm empties a bin into another one, using only the depth of its camera.

Run: python examples/scripted_pick.py [--seeds 50] [--objects 5 10] [--engine mujoco] [--pictures pick.png]
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Bytes, Floats
from fleet_sim.base.files import write_png
from fleet_sim.base.geometry import Pose
from fleet_sim.learning.manipulation import BaseBin, BinPickingConfig, BinScene, Camera, load_bin_picking
from fleet_sim.learning.manipulation.arm import TIP_OFFSET
from fleet_sim.learning.manipulation.scenes import look_at
from fleet_sim.sensing.sensors.sensor import CameraSensorParams

Mask = npt.NDArray[np.bool_]

FLOOR, WALL = 0.005, 0.002
"""Points below this height (m) belong to the bin's floor, points nearer than this to a wall belong to the wall."""
CLUSTER = 60
"""Smallest number of pixels of an object; smaller regions are ignored."""
EDGE = 0.003
"""Height step in m between neighbouring pixels that separates two objects."""
LONGEST = 0.042
"""Longest object in m, the diagonal of the largest box; longer regions are split."""
TIP, ROOT, TALL, HALF_WIDTH = 0.0145, 0.0268, 0.032, 0.011
"""Space in m that a finger needs beside the object: at its tip and from `TALL` above it, and to each side of it."""
SLACKS, SHIFTS, WIDEST = (0.006, 0.003), (0.0, 0.004, -0.004), 0.03
"""Clearances in m of each finger before it closes, shifts across its line, and largest opening of each finger."""
DEPTH, LOWEST = 0.018, 0.0
"""Depth of the finger tips below the top of an object, and their smallest height above the floor, in m."""
ABOVE, TRAVEL, RELEASE = 0.05, 0.16, 0.09
"""Heights in m: of the approach above an object, of motions between the bins, and of the release."""
ANGLES = 12
BLOCKED = 1.0
"""Largest obstruction of the fingers, see `finger_room`; grasps with more would press on other objects."""
PRESS, PULL = 0.002, 0.05
"""How far in m the closed fingers press on an object that they cannot hold, and draw it to the middle."""
GAIN = 0.05
"""Position gain of the arm's motors; low, because the fingers hold what they carry by friction only."""
SQUEEZE = 0.002
"""How far in m the target of a finger lies inside the object."""
NEAR, EXACT = 0.01, 0.003
"""Joint tolerances in rad: for motions between bins, and for moving the fingers to an object."""
CLOSE_STEPS, FALL_STEPS = 40, 40
"""Number of steps for closing the fingers, and for the fall of an object."""


@dataclass(frozen=True)
class Thing:
    """The visible points (N, 3) of one object, world frame."""

    points: Floats

    @property
    def centre(self) -> Floats:
        """The centre (2,) of its outline, independent of the density of points."""
        middle: Floats = 0.5 * (self.points[:, :2].min(0) + self.points[:, :2].max(0))
        return middle

    @property
    def top(self) -> float:
        """Its height in m."""
        return float(np.quantile(self.points[:, 2], 0.95))

    def axis(self) -> Floats:
        """Return the direction (2,) of its longest extent."""
        offsets = self.points[:, :2] - self.points[:, :2].mean(0)
        directions: Floats = np.linalg.eigh(offsets.T @ offsets)[1]
        return directions[:, 1]

    def span(self, direction: Floats) -> tuple[float, float]:
        """Return its smallest and largest coordinate along a direction (2,)."""
        along = self.points[:, :2] @ direction
        return float(np.quantile(along, 0.01)), float(np.quantile(along, 0.99))


@dataclass(frozen=True)
class Grasp:
    """A grasp: the point (3,) between the finger tips, and the angle of the closing direction."""

    point: Floats
    angle: float
    opening: float
    """Opening of each finger in m."""
    slack: float
    """How far in m each finger is then from the object."""
    cost: float

    @property
    def line(self) -> Floats:
        """The direction (2,) in which the fingers close."""
        return np.array([np.cos(self.angle), np.sin(self.angle)])

    def is_near(self, other: "Grasp") -> bool:
        """Return whether two grasps are at about the same position."""
        return bool(np.hypot(*(self.point - other.point)[:2]) < 0.01)

    def is_like(self, other: "Grasp") -> bool:
        """Return whether two grasps are about the same."""
        return bool(self.is_near(other) and abs(self.line @ other.line) > 0.9)


# ---- seeing --------------------------------------------------------------------------------------------------------


def world_points(camera: Camera) -> Floats:
    """Take a picture and return the points of its pixels (H, W, 3), world frame; NaN for empty pixels."""
    reading = camera.read()
    points = reading.points().astype(np.float64)
    x, y, z, w = reading.orientation.tolist()
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    world: Floats = points @ turn.T + reading.position
    return world


def seen_things(points: Floats, bin_: BaseBin) -> list[Thing]:
    """Return the objects of a bin in points (H, W, 3), highest first."""
    inside = bin_.to_bin(points.reshape(-1, 3)).reshape(points.shape)
    reach = 0.5 * bin_.dimensions[:2] - WALL
    free = (np.abs(inside[..., :2]) < reach).all(axis=2) & (inside[..., 2] > FLOOR)
    things = []
    while free.any():
        heights = np.where(free, points[..., 2], -np.inf)
        mask = grown(int(heights.argmax()), points[..., 2], free)
        free &= ~mask
        things += [Thing(part) for part in parted(points[mask]) if len(part) >= CLUSTER]
    return things


def grown(seed: int, heights: Floats, free: Mask) -> Mask:
    """Return a mask (H, W) of the pixels connected to a flat index through free pixels without a height step."""
    mask = np.zeros_like(free)
    mask.flat[seed] = True
    down = free[1:] & free[:-1] & (np.abs(np.diff(heights, axis=0)) < EDGE)
    right = free[:, 1:] & free[:, :-1] & (np.abs(np.diff(heights, axis=1)) < EDGE)
    while True:
        wider = mask.copy()
        wider[1:] |= mask[:-1] & down
        wider[:-1] |= mask[1:] & down
        wider[:, 1:] |= mask[:, :-1] & right
        wider[:, :-1] |= mask[:, 1:] & right
        if (wider == mask).all():
            return mask
        mask = wider


def parted(points: Floats) -> list[Floats]:
    """Split the points (N, 3) of adjacent objects into sets, each not longer than one object."""
    thing = Thing(points)
    axis = thing.axis()
    low, high = thing.span(axis)
    if high - low <= LONGEST:
        return [points]
    far_mask = points[:, :2] @ axis > 0.5 * (low + high)
    return [part for half in (points[far_mask], points[~far_mask]) for part in parted(half)]


# ---- choosing ------------------------------------------------------------------------------------------------------


def best_grasp(points: Floats, bin_: BaseBin, failed: Sequence[Grasp]) -> Grasp | None:
    """Return a grasp for an object in the bin, or None if the fingers fit around none of them.

    Grasps similar to failed ones come last, and after two failures at a position no third one is tried.
    """
    cloud = points.reshape(-1, 3)
    inside = np.abs(bin_.to_bin(cloud)[:, :2]) < 0.5 * bin_.dimensions[:2] - WALL
    cloud = cloud[inside.all(axis=1) & (cloud[:, 2] > bin_.pose.z + FLOOR)]
    grasps = [grasp for thing in seen_things(points, bin_) for grasp in grasps_of(thing, cloud, bin_)]
    grasps = [grasp for grasp in grasps if sum(map(grasp.is_near, failed)) < 2]
    return min(grasps, key=lambda grasp: grasp.cost + sum(map(grasp.is_like, failed)), default=None)


def grasps_of(thing: Thing, cloud: Floats, bin_: BaseBin) -> list[Grasp]:
    """Return grasps of an object with their costs: across its longer side, and rotated from that."""
    axis = thing.axis()
    floor = bin_.pose.z
    # Lower, the fingers would press on the floor, which keeps them from closing.
    tips = max(floor + bin_.floor + LOWEST, thing.top - DEPTH)
    across = float(np.arctan2(axis[0], -axis[1]))
    grasps = []
    for step in range(ANGLES):
        angle = across + np.pi * step / ANGLES
        line = np.array([np.cos(angle), np.sin(angle)])
        side = np.array([-line[1], line[0]])
        (low, high), (left, right) = thing.span(line), thing.span(side)
        for slack, shift in product(SLACKS, SHIFTS):
            middle = 0.5 * (low + high) * line + (0.5 * (left + right) + shift) * side
            opening = min(0.5 * (high - low) + slack, WIDEST)
            blocked = finger_room(middle, line, opening, tips, cloud, bin_)
            if blocked > BLOCKED:
                continue
            # Prefer grasps across the object and high objects; free space for the fingers outweighs both.
            cost = blocked + 8.0 * (high - low) - 2.0 * (thing.top - floor) + 50.0 * abs(shift) - 20.0 * slack
            grasps.append(Grasp(np.array([*middle, tips]), angle, opening, slack, cost))
    return grasps


def finger_room(middle: Floats, line: Floats, opening: float, tips: float, cloud: Floats, bin_: BaseBin) -> float:
    """Return the obstruction where the fingers go down: 0 if free, about 1 if one is blocked, inf by a wall."""
    side = np.array([-line[1], line[0]])
    offsets = cloud[:, :2] - middle
    along, aside = np.abs(offsets @ line), np.abs(offsets @ side)
    outer = opening + thickness(cloud[:, 2] - tips)
    in_way = (along > opening) & (along < outer) & (aside < HALF_WIDTH) & (cloud[:, 2] > tips)
    reach = opening + float(thickness(bin_.pose.z + bin_.floor + bin_.dimensions[2] - tips))
    corners = [middle + a * reach * line + b * HALF_WIDTH * side for a in (-1, 1) for b in (-1, 1)]
    inside = bin_.to_bin(np.array([[*corner, bin_.pose.z] for corner in corners]))[:, :2]
    return np.inf if (np.abs(inside) > 0.5 * bin_.dimensions[:2]).any() else 0.01 * float(in_way.sum())


def thickness(height: Floats | float) -> Floats:
    """Return how far in m a finger reaches outwards from its inner side, `height` m above its tip."""
    return TIP + (ROOT - TIP) * np.clip(np.asarray(height) / TALL, 0.0, 1.0)


# ---- doing ---------------------------------------------------------------------------------------------------------


class Picker:
    """The arm of a scene with its camera."""

    def __init__(self, config: BinPickingConfig) -> None:
        self.scene = BinScene(config=config)
        self.scene.arm_gain = GAIN
        self.watch: Callable[[str], None] = lambda moment: None
        """Called with the name of each phase of a pick."""
        # The first reset creates the scene.
        self.scene.reset()
        assert self.scene.pick_bin is not None and self.scene.drop_bin is not None
        self.pick_bin, self.drop_bin = self.scene.pick_bin, self.scene.drop_bin
        self.camera = Camera(config.camera, self.scene.sim)
        self.arm = self.scene.arms[0]

    def empty_bin(self, seed: int) -> "Score":
        """Fill the bin from a seed and empty it."""
        self.scene.reset(rng=np.random.default_rng(seed))
        return self.empty()

    def empty(self) -> "Score":
        """Empty the bin, with at most two attempts and two pulls per object."""
        number = self.scene.current_number_of_objects
        failed: list[Grasp] = []
        attempts = successes = brought = pulls = 0
        while attempts < 2 * number:
            self.leave()
            points = world_points(self.camera)
            grasp = best_grasp(points, self.pick_bin, failed)
            if grasp is None:
                things = seen_things(points, self.pick_bin)
                if not things or pulls == 2 * number:
                    break
                # Another one each time: some do not move.
                self.pull(things[pulls % len(things)])
                pulls += 1
                failed.clear()
                continue
            self.pick(grasp)
            attempts += 1
            before, brought = brought, self.brought()
            if brought > before:
                successes += 1
            else:
                failed.append(grasp)
        return Score(number, brought, attempts, successes)

    def leave(self) -> None:
        """Move the arm out of the camera's view."""
        self.move([*self.drop_bin.pose.position[:2], TRAVEL], 0.0)

    def pick(self, grasp: Grasp) -> None:
        """Pick the object of a grasp and carry it to the other bin."""
        x, y, tips = grasp.point.tolist()
        # Beside each other, or they would be a tower.
        where = self.brought() % 9
        place = [0.04 * (where // 3 - 1), 0.04 * (where % 3 - 1), 0.0]
        drop_x, drop_y, _ = self.drop_bin.to_world(np.array([place]))[0].tolist()
        # The fingers close along the hand's y axis, so a rotation by half a turn is the same grasp.
        yaw = grasp.angle - 0.5 * np.pi
        self.arm.open_position = grasp.opening
        self.arm.closed_position = max(grasp.opening - grasp.slack - SQUEEZE, 0.0)
        self.watch("look")
        self.arm.open_gripper()
        self.move([x, y, tips + ABOVE], yaw)
        self.watch("approach")
        self.move([x, y, tips + TIP_OFFSET], yaw, EXACT)
        self.close()
        self.watch("close")
        self.move([x, y, TRAVEL], yaw)
        self.watch("lift")
        self.move([drop_x, drop_y, RELEASE], yaw)
        self.watch("carry")
        self.arm.open_gripper()
        for _ in range(FALL_STEPS):
            self.scene.sim.step_once()
        self.watch("open")

    def pull(self, thing: Thing) -> None:
        """Press on the top of an object that the fingers do not fit around, and draw it to the middle of the bin."""
        self.arm.closed_position = 0.0
        self.arm.close_gripper()
        middle = np.array(self.pick_bin.pose.position[:2])
        place = self.pick_bin.to_bin(np.array([[*thing.centre, 0.0]]))[0, :2]
        # The closed fingers have to be between the walls, turned so that they come nearest to the object.
        room = 0.5 * self.pick_bin.dimensions[:2] - np.array([[ROOT, HALF_WIDTH], [HALF_WIDTH, ROOT]])
        turned = int(np.abs(place - np.clip(place, -room, room)).sum(axis=1).argmin())
        start = np.clip(place, -room[turned], room[turned])
        x, y, _ = self.pick_bin.to_world(np.array([[*start, 0.0]]))[0].tolist()
        way = middle - [x, y]
        end = [x, y] + way * min(1.0, PULL / max(float(np.hypot(*way)), 1e-6))
        yaw = 0.5 * np.pi * (1 - turned)
        height = max(thing.top - PRESS, self.pick_bin.pose.z + FLOOR) + TIP_OFFSET
        for (at_x, at_y), z in (([x, y], height + ABOVE), ([x, y], height), (end, height), (end, height + ABOVE)):
            self.move([at_x, at_y, z], yaw, EXACT)

    def close(self) -> None:
        """Close the gripper for a fixed number of steps: fingers that hold an object never reach their targets."""
        steps, self.arm.max_steps = self.arm.max_steps, CLOSE_STEPS
        self.arm.close_gripper()
        self.arm.max_steps = steps

    def move(self, target: Sequence[float], yaw: float, near: float = NEAR) -> None:
        """Move the point between the fingers to a position, the hand down, rotated by `yaw` modulo half a turn.

        Motors stop within a tolerance, so an exact move repeats it.
        """
        self.arm.acceptable_proximity_to_target = near
        for _ in range(3 if near == EXACT else 1):
            position, angles = self.arm.get_gripper_state()
            offset = np.array(target) - position
            turn = (yaw - angles[2] + 0.5 * np.pi) % np.pi - 0.5 * np.pi
            self.arm.apply_action_delta([*offset.tolist(), turn, 1.0 if self.arm.gripper_is_open else -1.0])

    def brought(self) -> int:
        """Return the number of objects in the other bin; used for the score only, not to choose grasps."""
        places = np.array([thing.get_pose().position for thing in self.pick_bin.objects])
        return int(self.drop_bin.contains_mask(places).sum())


@dataclass(frozen=True)
class Score:
    """Numbers of objects, delivered objects, attempts, and successful attempts."""

    things: int
    brought: int
    attempts: int
    successes: int

    def __add__(self, other: "Score") -> "Score":
        """Return the sum of two scores."""
        return Score(
            self.things + other.things,
            self.brought + other.brought,
            self.attempts + other.attempts,
            self.successes + other.successes,
        )

    def __str__(self) -> str:
        """Return the score as text."""
        share = 100.0 * self.successes / max(self.attempts, 1)
        return (
            f"{self.brought:3d} of {self.things} things brought, "
            f"{self.successes:3d} of {self.attempts} attempts succeeded ({share:.0f} %)"
        )


# ---- pictures ------------------------------------------------------------------------------------------------------


def strip_of_a_pick(picker: Picker, seed: int) -> Bytes:
    """Return six pictures (H, W, 3) of the first pick from a bin side by side."""
    picker.scene.reset(rng=np.random.default_rng(seed))
    place = look_at(np.array([1.15, -0.35, 0.5]), np.array([0.46, 0.13, 0.06]), np.array([0.0, 0.0, 1.0]))
    view = picker.scene.sim.add_sensor(
        CameraSensorParams(
            name="witness",
            rate=None,
            width=240,
            height=200,
            horizontal_fov=float(np.radians(38.0)),
            frame="optical",
            pose=Pose([1.15, -0.35, 0.5], place.tolist()),
        )
    )
    pictures: list[Bytes] = []
    picker.watch = lambda moment: pictures.append(view.read().rgb)
    picker.leave()
    grasp = best_grasp(world_points(picker.camera), picker.pick_bin, [])
    if grasp is not None:
        picker.pick(grasp)
    picker.watch = lambda moment: None
    picker.scene.sim.remove_sensor(view)
    return np.concatenate(pictures, axis=1)


# ---- the program ---------------------------------------------------------------------------------------------------


def settings(least: int, most: int, engine: str = "auto") -> BinPickingConfig:
    """Return settings with a camera straight above the bin and an arm that may leave the bin."""
    view = {"eye-position": [0.5, 0.0, 0.62], "target-position": [0.5, 0.0, 0.0], "up-vector": [1.0, 0.0, 0.0]}
    return load_bin_picking(
        {
            "simulation": {"engine": engine},
            "camera": {"view-matrix": view, "projection-matrix": {"fov": 18.0}},
            "arms": {"arm-1": {"clip-delta-actions-to-workspace": False}},
            "scene": {"bin": {"objects": {"min-number-of-objects": least, "max-number-of-objects": most}}},
        }
    )


def main() -> None:
    """Empty a bin for each seed and print how many grasps succeeded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=50, help="number of bins to empty")
    parser.add_argument("--objects", type=int, nargs=2, default=(5, 10), help="least and most objects per bin")
    parser.add_argument("--pictures", metavar="FILE.png", help="only write pictures of one pick")
    parser.add_argument("--engine", choices=("auto", "bullet", "mujoco"), default="auto", help="the physics engine")
    options = parser.parse_args()
    picker = Picker(settings(options.objects[0], options.objects[1], options.engine))
    if options.pictures:
        write_png(options.pictures, strip_of_a_pick(picker, 0))
        return
    total = Score(0, 0, 0, 0)
    for seed in range(options.seeds):
        score = picker.empty_bin(seed)
        kind = picker.pick_bin.kind
        print(f"seed {seed:3d}: {score}, {kind.family if kind else 'nothing'}", flush=True)
        total += score
    print(f"all seeds: {total}")


if __name__ == "__main__":
    main()
