"""What a view shows: frames of a simulation or of a recording, and what may be asked of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from fleet_sim.base.arrays import Bytes, Floats, Rows
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import ActionStatus
from fleet_sim.base.spatial import quaternions
from fleet_sim.models import KNOWN_MODELS
from fleet_sim.sensing.sensors.sensor import Sensor
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.drawing import FloorPlan
from fleet_sim.world.commands import Command, CommandAck, ExecuteAction, Remove, SetPoses, Spawn, Stop
from fleet_sim.world.features import FEATURES
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.snapshot import PathsAhead, Snapshot
from fleet_sim.world.world import World


@dataclass(frozen=True)
class Wanted:
    """What a frame is to have besides the snapshot; it costs nothing where nobody looks at it."""

    paths: bool = False
    scans: bool = False
    robots: frozenset[str] = frozenset()
    """Those whose details are shown."""
    cameras: frozenset[tuple[str, str]] = frozenset()
    """Robots and names of their cameras whose pictures are shown."""
    checkpoints: bool = False
    """Whether states are kept that a page may go back to."""


@dataclass(frozen=True)
class RunStatus:
    """How a run goes. Times in s; `throughput` is per hour of simulated time, None where nothing is delivered."""

    paused: bool = False
    speed: float = 1.0
    """The real-time factor that is asked for; 0: as fast as possible."""
    step_times: Sequence[float] = ()
    """Real times of the latest steps, in ms."""
    throughput: float | None = None
    compiling: str = ""
    """How far kernels are compiled; nothing when they are."""

    @property
    def step_time(self) -> float:
        """Their mean in s; computed by who shows it, and not between two steps."""
        return 0.001 * sum(self.step_times) / len(self.step_times) if self.step_times else 0.0


@dataclass(frozen=True)
class RobotDetails:
    """What is said of a robot or object besides its pose: lines of (what, value), and its sensors by name and kind."""

    lines: Sequence[tuple[str, str]] = ()
    cameras: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunEvent:
    """Something that happened to an entity, at a simulated time in s."""

    time: float
    name: str
    text: str


@dataclass(frozen=True, eq=False)
class ViewFrame:
    """What is shown at one moment; all of it is from between the same two steps."""

    snapshot: Snapshot
    status: RunStatus = RunStatus()
    paths: PathsAhead = field(default_factory=PathsAhead)
    scans: Floats = field(default_factory=lambda: np.empty((0, 3)))
    """Points (P, 3) where the rays of lidars end."""
    details: Mapping[str, RobotDetails] = field(default_factory=dict)
    pictures: Mapping[tuple[str, str], Bytes] = field(default_factory=dict)
    events: Sequence[RunEvent] = ()
    """What happened last, oldest first."""


class Recorded(Protocol):
    """A recording: snapshots at times. Whoever reads a file gives this, and a view shows it.

    One of a run in a building also has its `floor_plans`.
    """

    @property
    def times(self) -> Floats:
        """The times (T,) in s of all snapshots, rising."""

    def snapshot_at(self, time: float) -> Snapshot:
        """Return the last snapshot that is not after `time` in s; called by one thread at a time."""

    def close(self) -> None:
        """Let go of the file."""


class Source(ABC):
    """What a view shows. All methods may be called from any thread, but `frame` from one at a time."""

    title: str = "fleet_sim"
    """What the page is called."""
    floor_plans: tuple[FloorPlan, ...] = ()
    """What is on the floors of the building, if there is one."""
    takes_commands: bool = False
    """Whether robots can be sent, spawned and so on."""
    resets: bool = True
    """Whether it can begin again."""
    rewinds: bool = False
    """Whether it can go back to states that it has kept."""
    routed: bool = False
    """Whether there are ways around walls that robots can be sent on."""
    times: tuple[float, float] | None = None
    """First and last time in s of a recording; None for what is still being simulated."""

    @abstractmethod
    def frame(self, wanted: Wanted, patience: float) -> ViewFrame | None:
        """Return what is to be shown now; None where there is nothing new for `patience` s, or ever."""

    @abstractmethod
    def set_paused(self, paused: bool) -> None:
        """Pause, or go on."""

    @abstractmethod
    def step(self) -> None:
        """Make one step, where it is paused."""

    @abstractmethod
    def set_speed(self, factor: float) -> None:
        """Set the real-time factor; 0: as fast as possible."""

    @abstractmethod
    def reset(self) -> None:
        """Begin again."""

    def rewind(self) -> None:  # noqa: B027  a recording has all its times
        """Go back to the last state that was kept, or to the one before; nothing where it keeps none."""

    def seek(self, time: float) -> None:  # noqa: B027  one of the two has nothing to do
        """Go to a time of a recording; what is simulated has no other times."""

    @abstractmethod
    def send(self, command: Command) -> Future[CommandAck]:
        """Send a command; its answer comes when it is carried out."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is shown; a `frame` in another thread returns."""


# What happens in a run, for pages.


MOST_EVENTS = 50
"""Events that are kept."""


class EventLog:
    """Notes from the first page on what failed, was blocked, collided, or was late. For the step's thread."""

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self._sim = sim
        self._events: deque[RunEvent] = deque(maxlen=MOST_EVENTS)
        self._handlers: Mapping[str, Callable[..., None]] = {
            "action_completed": self._completed,
            "goal_failed": lambda agent, **details: self._note(agent, f"goal failed: {details['message']}"),
            "blocked": lambda agent: self._note(agent, f"blocked by {getattr(agent.blocked_by, 'name', 'something')}"),
            "collision_started": lambda obj_a, obj_b: self._note(obj_a, f"collides with {obj_b.name}"),
            "robot_out_of_energy": lambda agent: self._note(agent, "battery empty"),
            "order_changed": self._order_changed,
            "reset": self._forget,
        }
        for name, handler in self._handlers.items():
            sim.events.on(name, handler)

    @property
    def latest(self) -> tuple[RunEvent, ...]:
        """The events that are kept, oldest first."""
        return tuple(self._events)

    def close(self) -> None:
        """Note nothing any more."""
        for name, handler in self._handlers.items():
            self._sim.events.off(name, handler)

    def forget_after(self, time: float) -> None:
        """Forget what happened after a time that the run has gone back to."""
        while self._events and self._events[-1].time > time:
            self._events.pop()

    def _forget(self) -> None:
        self._events.clear()

    def _note(self, entity: Any, text: str) -> None:
        self._events.append(RunEvent(self._sim.sim_time, entity.name, text))

    def _completed(self, agent: Any, action: Any, status: Any) -> None:
        if status is ActionStatus.FAILED:
            self._note(agent, f"{type(action).__name__} failed: {action.error_message or 'no reason given'}")

    def _order_changed(self, order: str, before: Any, state: Any, robot: str) -> None:
        failed, done = state.value == "failed", state.value == "done"
        due = self._sim.get_manager("orders").status(order).due if done else None
        if failed or (due is not None and self._sim.sim_time > due):
            self._events.append(RunEvent(self._sim.sim_time, robot, f"order {order} {'failed' if failed else 'late'}"))


# What a page says of one robot, read between two steps.


MOST_JOINTS = 8
"""Joints that are listed one by one."""


def details_of(sim: MultiRobotSimulationCore, name: str) -> RobotDetails:
    """Return what is said of the entity called `name`."""
    world = sim.world
    row = world.index.row_named(name)
    lines = _motion(world, row)
    if world.kind[row] == KIND_AGENT:
        lines += _work(sim, row)
    lines += _features(sim, row)
    lines += _relations(world, row)
    sensors: list[Sensor] = sim.sensors.of(row)
    if sensors:
        lines.append(("sensors", ", ".join(sensor.params.name for sensor in sensors)))
    lines += _joints(world, row)
    return RobotDetails(lines, tuple(sensor.params.name for sensor in sensors if sensor.type == "camera"))


def _motion(world: World, row: int) -> list[tuple[str, str]]:
    x, y, z = world.position[row].tolist()
    yaw = np.degrees(quaternions.yaw_of(world.orientation, row))
    speed, turn = np.linalg.norm(world.velocity[row]), world.angular_velocity[row, 2]
    return [
        ("position", f"{x:.2f}, {y:.2f}, {z:.2f} m"),
        ("heading", f"{yaw:.0f}°"),
        ("speed", f"{speed:.2f} m/s, {np.degrees(turn):.0f} °/s"),
    ]


def _work(sim: MultiRobotSimulationCore, row: int) -> list[tuple[str, str]]:
    world, lines = sim.world, list[tuple[str, str]]()
    action, waiting = sim.actions.current(row), sim.actions.queued(row)
    if action is not None:
        lines.append(("action", f"{type(action).__name__}, {action.get_duration():.1f} s"))
    lines.append(("queue", f"{waiting} action{'s' * (waiting != 1)}"))
    blocker = int(world.motion.blocked_by[row])
    if blocker != NO_ROW:
        lines.append(("blocked by", world.label(blocker)))
    return lines


def _features(sim: MultiRobotSimulationCore, row: int) -> list[tuple[str, str]]:
    lines = list[tuple[str, str]]()
    for name in sim.features.used:
        table = sim.features.table(name)
        if table.present[row]:
            lines += FEATURES.get(name).details(table, row)
    return lines


def _joints(world: World, row: int) -> list[tuple[str, str]]:
    model = world.model_of(row)
    if model is None:
        return []
    names = [model.joint_names[joint] for joint in model.movable.tolist()]
    values = world.joints.position[world.joints.slots(world.robots, np.array([row]))]
    if len(names) > MOST_JOINTS:
        return [("joints", str(len(names)))]
    return [(joint, f"{value:.2f}") for joint, value in zip(names, values.tolist(), strict=True)]


def _relations(world: World, row: int) -> list[tuple[str, str]]:
    lines = []
    if world.parent[row] != NO_ROW:
        lines.append(("carried by", world.label(int(world.parent[row]))))
    carried: Rows = world.rows[world.parent[world.rows] == row]
    if len(carried):
        lines.append(("carries", ", ".join(world.label(own) for own in carried[:5].tolist())))
    return lines


# Watching: has the sensors computed that pages look at, and no longer than they do.


MOST_SCANS = 50
"""Lidars whose scans are shown at once."""
MOST_POINTS = 50_000
"""Points that are shown of all scans together."""


class Watching:
    """Reads sensors for pages, as a reader like any other: each is computed at its own rate. For between two steps."""

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self._sim = sim
        self._watched: list[Sensor] = []
        # The latest reading of each, and the pose that it was taken from.
        self._seen: dict[Sensor, tuple[Any, Pose]] = {}

    def look(self, wanted: Wanted) -> tuple[Floats, dict[tuple[str, str], Bytes]]:
        """Return the points (P, 3) of the latest scans, and the latest pictures, by robot and camera."""
        lidars, cameras = self._lidars(wanted), self._cameras(wanted)
        self._follow([*lidars, *cameras.values()])
        points = [_points(lidar, *self._reading(lidar)) for lidar in lidars]
        scans = np.concatenate([np.empty((0, 3)), *points])
        colors = {key: self._reading(camera)[0].rgb for key, camera in cameras.items()}
        pictures = {key: picture for key, picture in colors.items() if picture is not None}
        return scans[:: 1 + len(scans) // MOST_POINTS], pictures

    def end(self) -> None:
        """Read nothing any more."""
        self._follow([])

    def _follow(self, sensors: list[Sensor]) -> None:
        before, self._watched = self._watched, sensors
        for sensor in sensors:
            if sensor not in before:
                sensor.on_reading(self._note)
        for sensor in before:
            if sensor not in sensors:
                sensor.off_reading(self._note)
                self._seen.pop(sensor, None)

    def _note(self, sensor: Sensor, reading: Any) -> None:
        self._seen[sensor] = reading, sensor.get_pose()

    def _reading(self, sensor: Sensor) -> tuple[Any, Pose]:
        """Return the latest reading of a sensor and the pose that it was taken from.

        The first one is read here, and so is the first after a reset: in a pause there would be none.
        """
        known = self._seen.get(sensor)
        if known is None or known[0].tick > self._sim.world.clock.tick:
            known = self._seen[sensor] = self._sim.sensors.read_with(sensor, sensor.params), sensor.get_pose()
        return known

    def _lidars(self, wanted: Wanted) -> list[Sensor]:
        if not wanted.scans:
            return []
        sensors = [sensor for sensor in self._sim.sensors.all if sensor.type in ("lidar", "lidar_3d")]
        # Of the robots that somebody looks at, or of all.
        chosen = [sensor for sensor in sensors if sensor.owner is not None and sensor.owner.name in wanted.robots]
        return (chosen or sensors)[:MOST_SCANS]

    def _cameras(self, wanted: Wanted) -> dict[tuple[str, str], Sensor]:
        found = {}
        for robot, name in wanted.cameras:
            if self._sim.world.index.has_name(robot):
                for sensor in self._sim.sensors.of(self._sim.world.index.row_named(robot)):
                    if sensor.name == name and sensor.type == "camera":
                        found[robot, name] = sensor
        return found


def _points(lidar: Sensor, reading: Any, pose: Pose) -> Floats:
    """Return where the rays of a reading of a lidar end, in the world, if it was taken from `pose`."""
    if lidar.type == "lidar_3d":
        points: Floats = reading.points.reshape(-1, 3)
    else:
        hit_mask = np.isfinite(reading.ranges)
        angles, ranges = lidar.params.angles[hit_mask], reading.ranges[hit_mask]
        points = np.stack((ranges * np.cos(angles), ranges * np.sin(angles), np.zeros(len(ranges))), axis=1)
    points = points[np.isfinite(points).all(axis=1)]
    turned = quaternions.rotate(np.tile(np.array(pose.orientation), (len(points), 1)), points)
    return turned + np.array(pose.position)


# What clicks ask for, as commands: values that are recorded and repeated like any other.


SOURCE = "view"
"""What commands say they came from."""
BOX = "plain box"
"""The choice of a robot without a description."""
SHIPPED = ("diff_base", "omni_base", "mobile_manipulator", "arm6", "rail_arm")
"""Robots that are always there."""


def robots_to_add() -> list[str]:
    """Return what a page may add: a plain robot, ours, and those that users have registered."""
    return [BOX, *SHIPPED, *sorted(name for name, entry in KNOWN_MODELS.items() if entry.tier == "user")]


def go_to(
    name: str, here: Floats, point: Floats, *, queue: bool, routed: bool, tolerance: float = 0.0
) -> ExecuteAction:
    """Send a robot at `here` (3,) to a point (3,) on the floor, or have it go there after what it does.

    It keeps its height. `routed`: on a way around the walls. `tolerance`: in m, where it goes to a place near the
    point, see `Feature.goal_tolerance`.
    """
    heading = math.atan2(point[1] - here[1], point[0] - here[0])
    action: dict[str, Any] = {
        "type": "move_to",
        "target_pose": [float(point[0]), float(point[1]), float(here[2]), heading],
        "final_orientation_align": False,
    }
    if routed:
        action["route"] = "auto"
    if tolerance:
        action["tolerance"] = tolerance
    return ExecuteAction(names=(name,), actions=(action,), replace=not queue, source=SOURCE)


def stop(name: str) -> Stop:
    """Stop a robot."""
    return Stop(names=(name,), source=SOURCE)


def remove(name: str) -> Remove:
    """Remove a robot or object."""
    return Remove(names=(name,), source=SOURCE)


def put(name: str, position: Floats, orientation: Floats) -> SetPoses:
    """Put a robot or object somewhere; it stands then."""
    return SetPoses(
        names=(name,), positions=position[None], orientations=orientation[None], preserve_velocity=False, source=SOURCE
    )


def spawn(model: str, point: Floats) -> Spawn:
    """Spawn a robot of a known model, or a plain box that drives, at a point (3,) on the floor."""
    x, y = float(point[0]), float(point[1])
    if model == BOX:
        shape = {"shape_type": "box", "half_extents": [0.35, 0.25, 0.15], "rgba_color": [0.1, 0.45, 0.8, 1.0]}
        entry: dict[str, Any] = {"name": "robot", "pose": [x, y, 0.15], "shape": shape}
    else:
        entry = {"name": model, "pose": [x, y, 0.0], "urdf_path": model}
    return Spawn(robots=(entry,), rename=True, source=SOURCE)
