"""Agent: a handle of a robot that drives, carries objects and executes actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from fleet_sim.base.arrays import Floats, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.geometry import Path, Pose, pose_arrays
from fleet_sim.base.limits import LONGEST_TIME
from fleet_sim.base.params import ActionCause, ControllerMode, MotionMode, MovementDirection
from fleet_sim.robots import attachments, drive
from fleet_sim.robots.arm import EndEffectorHandle
from fleet_sim.robots.joint_arguments import check_sequence
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import AgentSpawnParams, ControllerParams, SimObjectSpawnParams
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.shapes import BASE
from fleet_sim.world.steering import POSE
from fleet_sim.world.user_code import AgentHooks, check_plugin
from fleet_sim.world.world import World

# Links and joints of robots by name or index.


def resolve_link_index(entity: SimObject, link: int | str) -> int:
    """Return the index of a link given by name or index, -1 for the base; raises UnknownNameError for any other."""
    return attachments.link_index(entity.world, entity.row, link)


def resolve_joint_index(entity: SimObject, joint: int | str) -> int:
    """Return the index of a joint given by name or index, fixed joints included.

    Raises UnknownNameError for an unknown joint, StateError for a body without joints.
    """
    model = entity.world.model_of(entity.row)
    if model is None or not model.num_joints:
        raise StateError(f"{entity.name or entity!r} has no joints")
    return model.joint_index(joint)


# The plan made from the `controller` of a spawn entry: limits and defaults, a motion law, Python controllers.


@dataclass(frozen=True)
class ControllerPlan:
    """`params` for the motion columns; `law` the motion law's name where one is asked for; `make()` returns new Python
    controllers for one agent, lowest level first.
    """

    params: ControllerParams = field(default_factory=ControllerParams)
    law: str | None = None
    make: Callable[[], list[Any]] = list


def plan_controllers(world: World, spec: Any) -> ControllerPlan:
    """Return the plan for `spec`: None, ControllerParams, or a spec of the world's registry of controllers.

    Raises InvalidValueError, UnknownNameError or ConfigError if `spec` cannot be read.
    """
    if spec is None:
        return ControllerPlan()
    if isinstance(spec, ControllerParams):
        return ControllerPlan(spec)
    plan: ControllerPlan = world.plan_controller(spec)
    return plan


Plugin = TypeVar("Plugin", bound=AgentHooks[Any])
Hook = TypeVar("Hook")


class Agent(EndEffectorHandle):
    """A robot.

    The last command wins: a new goal, path, velocity or stop cancels its running and queued actions. Base and joints
    are separate: an action that only moves joints continues while the base is commanded to drive, and vice versa.
    """

    __slots__ = ()

    params_class: ClassVar[type[SimObjectSpawnParams]] = AgentSpawnParams
    kind: ClassVar[int] = KIND_AGENT

    @classmethod
    def from_urdf(
        cls,
        urdf_path: str,
        pose: Pose | None = None,
        mass: float | None = None,
        motion_mode: MotionMode | str = MotionMode.DIFFERENTIAL,
        use_fixed_base: bool = False,
        sim_core: Any = None,
        **settings: Any,
    ) -> Any:
        """Spawn one agent from a robot description: a model's name or a file. `settings` are further spawn params.

        Without `mass` the robot has the mass of its description, and with physics on its joints are moved by motors. A
        mass of 0 makes it kinematic.
        """
        if sim_core is None:
            raise InvalidValueError("from_urdf needs sim_core, the simulation to spawn in")
        params = AgentSpawnParams(
            initial_pose=pose or Pose((0.0, 0.0, 0.0)),
            mass=mass,
            urdf_path=urdf_path,
            motion_mode=motion_mode,
            use_fixed_base=use_fixed_base,
            **settings,
        )
        return sim_core.spawn(params, cls)

    # ---- driving -----------------------------------------------------------------------------------------------------

    def set_goal(self, pose: Pose) -> None:
        """Drive to `pose`, orientation included. Raises StateError for an agent that cannot move."""
        self.set_goal_pose(pose)

    def set_goal_pose(self, goal: Pose, direction: MovementDirection | str | None = None) -> None:
        """Drive to `goal`; `direction` is the end of a differential base that leads."""
        self.set_path(Path([goal]), direction=direction)

    def set_path(
        self,
        path: Path | Sequence[Pose],
        auto_approach: bool = True,
        final_orientation_align: bool = True,
        direction: MovementDirection | str | None = None,
    ) -> None:
        """Follow the waypoints of `path`, starting at the robot's present pose.

        With `final_orientation_align` the robot turns to the last waypoint's orientation. It always drives to the first
        waypoint first, so `auto_approach` can only be True; raises InvalidValueError for anything else, and, for a
        robot with `block_on_collision`, for waypoints inside of static bodies.
        """
        checked_approach(auto_approach, "auto_approach: ")
        self.require_mobile()
        waypoints = checked_path(path)
        way = None if direction is None else MovementDirection(direction)
        positions, orientations = pose_arrays(waypoints)
        inside = drive.goals_inside(
            self._world,
            np.array([self.row]),
            np.array([len(waypoints)]),
            positions,
            orientations,
            align_final=final_orientation_align,
        )
        for number, body in inside.values():
            raise InvalidValueError(f"path: {drive.inside_text(self._world, number, body, len(waypoints))}")
        self._world.actions.cancel_base(self.row, "a new path was set")
        self.begin_path(waypoints, final_orientation_align, way)

    def begin_path(
        self,
        path: Path | Sequence[Pose],
        final_orientation_align: bool = True,
        direction: MovementDirection | str | None = None,
        tolerance: float = 0.0,
        blocked_timeout: float | None = None,
    ) -> None:
        """Follow `path` without cancelling actions; for use by actions. `blocked_timeout` in s: None is the run's."""
        row = self.row
        waypoints = checked_path(path)
        positions, orientations = pose_arrays(waypoints)
        drive.start_paths(
            self._world,
            np.array([row]),
            np.array([len(waypoints)]),
            positions,
            orientations,
            direction=None if direction is None else MovementDirection.parse(direction),
            align_final=final_orientation_align,
            tolerance=tolerance,
            blocked_timeout=blocked_timeout,
        )

    def set_velocity(
        self,
        vx: float = 0.0,
        vy: float = 0.0,
        vz: float = 0.0,
        wx: float = 0.0,
        wy: float = 0.0,
        wz: float = 0.0,
        timeout: float | None = None,
    ) -> None:
        """Drive with a body twist (m/s, rad/s); acceleration limits apply when it starts and ends.

        A differential base follows `vx` and `wz` alone, as on ROS topics. After `timeout` s of simulation time (None:
        the agent's own, 0: never) the robot slows down to a stop.
        """
        self.require_mobile()
        linear = as_floats((vx, vy, vz), (3,), "linear velocity")
        angular = as_floats((wx, wy, wz), (3,), "angular velocity")
        limit = None if timeout is None else as_float(timeout, "timeout in s", low=0.0, high=LONGEST_TIME)
        self._world.actions.cancel_base(self.row, "a velocity was commanded")
        drive.start_velocities(self._world, np.array([self.row]), linear, angular, limit)

    set_cmd_vel = set_velocity

    def stop(self) -> None:
        """Stop base and joints at once; the robot's actions are cancelled."""
        # First, as a cancelled action may still command the robot while it cleans up.
        self._world.actions.cancel(self.row, "stopped", ActionCause.CANCELLED)
        if self._world.robots.joint_count[self.row]:
            self.stop_joints()
        drive.stop(self._world, np.array([self.row]), stay=True)

    def require_mobile(self) -> None:
        """Raise StateError unless this agent can move now."""
        row, world = self.row, self._world
        if world.motion.law[row] == 0:
            raise StateError(f"agent {world.label(row)!r} has a fixed base and cannot move")
        if world.parent[row] != NO_ROW:
            holder = world.label(int(world.parent[row]))
            raise StateError(f"agent {world.label(row)!r} is carried by {holder!r} and cannot move by itself")
        for rule in world.drive_rules:
            if rule.refuses(np.array([row]))[0]:
                raise StateError(f"agent {world.label(row)!r} cannot drive: {rule.reason_of(row)}")

    @property
    def can_move(self) -> bool:
        """Whether this agent has a mobile base."""
        return bool(self._world.motion.law[self.row] != 0)

    @property
    def is_urdf_robot(self) -> bool:
        """Whether the agent was spawned from a robot description."""
        return self.robot_model is not None

    def is_goal_reached(self) -> bool:
        """Return whether the last goal or path given was reached."""
        return bool(self._world.motion.reached[self.row])

    @property
    def is_moving(self) -> bool:
        """Whether the robot has a goal it has not reached, or a velocity."""
        return bool(drive.moving_mask(self._world, np.array([self.row]))[0])

    @property
    def controller_mode(self) -> ControllerMode:
        """What the base follows at present."""
        return ControllerMode.from_code(self._world.motion.control[self.row])

    @property
    def goal_pose(self) -> Pose | None:
        """The last waypoint of the path being followed, or None."""
        path = self.path
        return path[-1] if path else None

    @property
    def path(self) -> Path | None:
        """The path being followed, or None."""
        world, row = self._world, self.row
        span = world.waypoints.of(world.motion, row)
        if span.start == span.stop or world.motion.control[row] != POSE:
            return None
        positions, orientations = world.waypoints.position[span].tolist(), world.waypoints.orientation[span].tolist()
        return Path([Pose(point, turn) for point, turn in zip(positions, orientations, strict=True)])

    @property
    def current_waypoint_index(self) -> int:
        """The index in `path` of the current waypoint."""
        return int(self._world.motion.waypoint[self.row])

    @property
    def angular_velocity(self) -> float:
        """Turning speed about z in rad/s."""
        return float(self._world.angular_velocity[self.row, 2])

    # ---- limits ------------------------------------------------------------------------------------------------------

    @property
    def max_linear_vel(self) -> Floats:
        """Speed limit per body axis (3,), in m/s."""
        return self._copy_of(self._world.motion.linear_limits)

    @property
    def max_linear_accel(self) -> Floats:
        """Acceleration limit per body axis (3,), in m/s2."""
        return self._copy_of(self._world.motion.linear_accels)

    @property
    def max_angular_vel(self) -> Floats:
        """Turning speed limit per body axis (3,), in rad/s."""
        return self._copy_of(self._world.motion.angular_limits)

    @property
    def max_angular_accel(self) -> Floats:
        """Turning acceleration limit per body axis (3,), in rad/s2."""
        return self._copy_of(self._world.motion.angular_accels)

    @property
    def motion_mode(self) -> MotionMode | str:
        """How the base moves: the name of its motion law."""
        name = self._world.laws.names()[self._world.motion.law[self.row]]
        return MotionMode(name) if name in list(MotionMode) else name

    def set_motion_mode(self, mode: MotionMode | str) -> bool:
        """Change the motion law; False while the robot moves. Raises UnknownNameError, InvalidValueError if unfit."""
        law = self._world.laws.index(str(mode))
        self.require_mobile()
        if self.is_moving:
            return False
        drive.change_law(self._world, self.row, law)
        return True

    @property
    def block_on_collision(self) -> bool:
        """Whether the robot stops before it would hit something."""
        return bool(self._world.block_on_collision[self.row])

    @block_on_collision.setter
    def block_on_collision(self, value: bool) -> None:
        self._world.block_on_collision[self.row] = bool(value)

    @property
    def blocked_by(self) -> SimObject | None:
        """The obstacle that currently blocks the robot, or None."""
        row = int(self._world.motion.blocked_by[self.row])
        return None if row == NO_ROW else self._world.handles[row]

    # ---- carrying ----------------------------------------------------------------------------------------------------

    def pick(self, obj: SimObject, relative_pose: Pose | None = None, link: int | str = BASE) -> bool:
        """Attach `obj` at once, without driving there; return whether the robot carries it now.

        It follows `link` of the robot, and keeps its place relative to it unless `relative_pose` (link frame) is given.
        """
        return self.attach_object(obj, link, relative_pose, keep_world_pose=relative_pose is None)

    def drop(self, obj: SimObject | None = None, drop_pose: Pose | None = None) -> bool:
        """Detach `obj`, or the first carried object; return False if there is none."""
        carried = self.get_attached_objects()
        target = obj if obj is not None else (carried[0] if carried else None)
        return target is not None and self.detach_object(target, drop_pose=drop_pose)

    # ---- actions -----------------------------------------------------------------------------------------------------

    def execute_action(self, action: Any) -> None:
        """Append `action` to the queue: it starts when those before it have ended."""
        self._world.actions.add(self.row, action)

    add_action = execute_action

    def add_action_sequence(self, actions: Iterable[Any]) -> None:
        """Append several actions to the queue: all of them, or none where one cannot be queued."""
        for action in check_sequence(actions, self._world.actions.check):
            self.execute_action(action)

    def clear_actions(self) -> None:
        """Cancel the running and the queued actions and stop."""
        if self._world.actions.cancel(self.row, "actions cleared", ActionCause.CANCELLED):
            drive.stop(self._world, np.array([self.row]))

    def get_current_action(self) -> Any | None:
        """Return the running action, or None."""
        return self._world.actions.current(self.row)

    def get_action_queue_size(self) -> int:
        """Return how many actions are running or waiting."""
        return self._world.actions.queued(self.row)

    def is_action_queue_empty(self) -> bool:
        """Return whether no action is running or waiting."""
        return self.get_action_queue_size() == 0

    def update_attached_objects_kinematics(self) -> None:
        """Update the poses of carried objects now; otherwise this happens at the end of phase 1."""
        attachments.follow_rows(self._world, np.array([self.row]))

    def carried(self) -> None:
        """Called when something starts to carry the robot: it stops, and its actions are cancelled."""
        self._world.actions.cancel(self.row, "the robot was picked up")
        drive.stop(self._world, np.array([self.row]))

    # ---- Python hooks ------------------------------------------------------------------------------------------------

    @property
    def controllers(self) -> list[Any]:
        """The agent's Python controllers, lowest level first."""
        return self._world.hooks.controllers(self.row)

    @property
    def controller(self) -> Any | None:
        """The lowest of the agent's Python controllers, or None."""
        return next(iter(self.controllers), None)

    def add_controller(self, controller: Any) -> None:
        """Call `controller.compute(agent, dt)` in each step, before the controllers added earlier.

        It may be an AgentController, or the name or mapping of a registered one as in a scenario file.
        """
        made = plan_controllers(self._world, controller).make()
        self._world.hooks.set_controllers(self.row, [*self.controllers, *made])

    def set_controller(self, controller: Any | None) -> None:
        """Replace all Python controllers by one (given as to `add_controller`), or by none."""
        made = plan_controllers(self._world, controller).make()
        self._world.hooks.set_controllers(self.row, made)

    def get_controller_by_type(self, cls: type[Hook]) -> Hook | None:
        """Return the agent's controller of type `cls`, or None."""
        return next((known for known in self.controllers if isinstance(known, cls)), None)

    def remove_controller(self, controller: Any) -> bool:
        """Remove `controller`; returns whether it was there."""
        kept = [known for known in self.controllers if known is not controller]
        removed = len(kept) < len(self.controllers)
        self._world.hooks.set_controllers(self.row, kept)
        return removed

    @property
    def plugins(self) -> list[AgentHooks[Any]]:
        """The agent's plugins."""
        return self._world.hooks.plugins(self.row)

    def add_plugin(self, plugin: type[Plugin] | Plugin, config: dict[str, Any] | None = None) -> Plugin:
        """Add a plugin (a class is made into one with `config`) and return it."""
        check_plugin(plugin, AgentHooks, "AgentPlugin")
        made = plugin(self, config) if isinstance(plugin, type) else plugin
        self._world.hooks.add_plugin(self.row, made)
        return made

    def remove_plugin(self, plugin: AgentHooks[Any]) -> bool:
        """Destroy `plugin`; returns whether it was there."""
        return self._world.hooks.remove_plugin(self.row, plugin)

    def get_plugin(self, cls: type[Hook]) -> Hook | None:
        """Return the agent's plugin of type `cls`, or None."""
        return next((plugin for plugin in self.plugins if isinstance(plugin, cls)), None)


def checked_path(path: Path | Sequence[Pose]) -> Path:
    """Return `path` as a Path; raises InvalidValueError for one without waypoints or with anything but poses."""
    if not isinstance(path, (Path, Iterable)):
        raise InvalidValueError(f"path: expected a Path or a list of poses, got {path!r}")
    waypoints = path if isinstance(path, Path) else Path(list(path))
    if not len(waypoints):
        raise InvalidValueError("a path needs at least one waypoint, got none")
    return waypoints


def checked_approach(value: object, what: str = "") -> bool:
    """Return True; raises InvalidValueError for other values: robots always drive to the first waypoint."""
    if value is not True:
        raise InvalidValueError(
            f"{what}must be True, got {value!r}: a robot follows a path from wherever it is, so it drives to the first "
            "waypoint first. To skip waypoints, pass a path without them"
        )
    return True


# AgentPlugin: the base class of plugins of one agent.


class AgentPlugin(AgentHooks[Agent]):
    """Base class of plugins of one agent; costs one Python call per agent and step.

    `agent` is the agent, `config` the value given with the plugin.
    """
