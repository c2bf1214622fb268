"""FleetSimNode: a simulation and its interfaces. Read this file first.

The simulation steps in a thread of its own. Two systems in its step belong to the node: `ros_receive` at the beginning
of phase 1 polls the per-robot topics and puts commands in the inbox, `ros_publish` at the end publishes. Services,
actions and parameters are served by an executor in another thread; they send commands through the inbox as well, and
the simulation calls them through a mailbox.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy import get_rmw_implementation_identifier
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock as RosClock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter

from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, StateError
from fleet_sim.base.files import resolve_config
from fleet_sim.base.limits import LONGEST_TIME, OperatorFolder
from fleet_sim.base.params import SimulationParams, ViewParams
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.base.scenario import (
    RateParams,
    RosParams,
    as_scenario,
    is_scenario,
    simulation_in,
    with_implied_settings,
)
from fleet_sim.base.settings import load_mapping
from fleet_sim.facade.recording import InputRecorder
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.spawning import fill_scenario, spawn_entry_rows
from fleet_sim.ros.action_kinds import ActionInterface
from fleet_sim.ros.actions import SimulatedActionServer
from fleet_sim.ros.commands import CommandGateway, Mailbox, Permissions, state_folder
from fleet_sim.ros.fleet import CollisionsTopic, FleetCommandInterface, FleetStatesTopic
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.messages import Throttle, TopicNode, take_roster
from fleet_sim.ros.monitoring import DiagnosticsTopic, MarkersTopic
from fleet_sim.ros.robot_commands import CmdVelTopic, GoalPoseTopic, JointCommandsTopic, JointTrajectoryTopic, PathTopic
from fleet_sim.ros.robot_states import JointStatesTopic, OdomTopic, PlanTopic, RobotDescriptionTopic
from fleet_sim.ros.sensors import SENSORS
from fleet_sim.ros.services import CheckpointServices, PictureService, PopulationServices, RecordService, RunServices
from fleet_sim.ros.tf import ClockTopic, LinkFramesTopic, TfTopic
from fleet_sim.ros.transforms import TfListener, Transforms
from fleet_sim.ros.waiting_messages import SleepingServers
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.clock import Clock, RosTime, Schedule
from fleet_sim.world.commands import Frames
from fleet_sim.world.pipeline import Phase, System

# When interfaces are due.


class Rates:
    """Schedules of all rates, in simulation time. To be used in the simulation's thread only."""

    def __init__(self, clock: Clock, params: RateParams) -> None:
        self._clock = clock
        self._schedules: dict[str, Schedule | None] = {}
        for field in fields(RateParams):
            self.change(field.name, getattr(params, field.name))

    def change(self, name: str, rate: float | None) -> None:
        """Change one rate, in Hz; None is each step, 0 never."""
        self._schedules[name] = None if rate == 0.0 else self._clock.schedule(rate)

    def add(self, name: str, rate: float | None) -> None:
        """Add the rate of an interface that has no field in RateParams; a known rate does not change."""
        if name not in self._schedules:
            self.change(name, rate)

    def due(self) -> set[str]:
        """Return the names of the interfaces that are due; to be called once per step."""
        return {
            name for name, schedule in self._schedules.items() if schedule is not None and schedule.poll() is not None
        }


RATE_PREFIX = "rates."
SIMPLE_ROBOT: dict[str, Any] = {
    "name": "robot",
    "pose": [0.0, 0.0, 0.15],
    "shape": {"shape_type": "box", "half_extents": [0.35, 0.25, 0.15], "rgba_color": [0.1, 0.45, 0.8, 1.0]},
    # Without 2D navigation, a goal with z = 0, as from RViz, would move the robot's centre into the ground.
    "controller": {"navigation_2d": True},
}
"""The robot that the parameter `robots` spawns."""

SPACING = 2.0
"""Distance in m between the robots of the parameter `robots`."""


def completed(scenario: Mapping[str, Any], *, source: str = "") -> dict[str, Any]:
    """Return what a file says with the settings this implies, a window only if it asks for one; raises ConfigError."""
    given: dict[str, Any] = dict(as_scenario(scenario))
    if is_scenario(given):
        settings = simulation_in(given)
        # What is not a mapping is refused by the reader of the settings.
        given["simulation"] = {"gui": False, **settings} if isinstance(settings, Mapping) else settings
    else:
        given = {"gui": False, **given}
    return dict(with_implied_settings(given, source=source))


class NodeParameters:
    """Declares the parameters, builds the simulation they describe, and applies changes.

    `target_rtf` and `rates.*` may be set at any time, the others are read once. A value that is not allowed is rejected
    with the reason.
    """

    def __init__(self, node: Node) -> None:
        """Raises ConfigError for an invalid scenario or parameter."""
        self._node = node
        config = self._once("config", "", "Scenario: a YAML file, or the name of a shipped one; empty: an empty world.")
        self._source = str(resolve_config(config)) if config else ""
        # Written as a scenario, so that the inputs of the run can be replayed.
        self._scenario = completed(load_mapping(self._source) if config else {"simulation": {}}, source=self._source)
        self.simulation = SimulationParams.from_dict(self._scenario, source=self._source)
        self.ros = RosParams.from_scenario(self._scenario, source=self._source)
        self.robots = self._once("robots", 0, "Number of simple robots to spawn in addition, in a grid.")
        self.simulation.gui = self._once("gui", self.simulation.gui, "Open a window.")
        self._paused = self._once("paused", False, "Start paused.")
        self.permissions = Permissions(
            read_only=self._once("read_only", False, "Reject all commands and requests that would change something."),
            remote_spawn=self._once("remote_spawn", True, "Whether messages may spawn robots and objects."),
            states=self._state_folder(),
        )
        self.view = self._view_params()
        self.record = self._once("record", "", "Record the run into this .mcap file; empty: no recording.")
        self.record_inputs = self._once(
            "record_inputs", "", "Record all external input in this file; empty: no recording."
        )
        text = "Folder in which sim/record and worlds of messages may write new files; empty: none."
        self.record_folder = self._once("record_folder", "", text)
        self.record_sensors = self._recorded_sensors()
        text = "Real seconds after which goals of a disconnected client end; 0: never."
        self.client_timeout = float(self._once("client_timeout", 0.0, text))
        self._check("client_timeout", 0.0 <= self.client_timeout <= LONGEST_TIME, f"must be 0 to {LONGEST_TIME:g} s")
        text = "Go on where the middleware refuses robots an interface, and only log which; else the node ends."
        self.incomplete = self._once("incomplete", False, text)
        self._check("robots", self.robots >= 0, f"must be at least 0, got {self.robots}")
        self._declare_changeable()

    def _view_params(self) -> ViewParams | None:
        """Return where the simulation is shown in the browser, or None; raises ConfigError."""
        shown = self._once("view", False, "Show the simulation in the browser; the address is printed.")
        defaults = ViewParams()
        host = self._once("view_host", defaults.host, "Address that the page in the browser is served at.")
        port = self._once("view_port", defaults.port, "Port; if taken, the next free one. 0: any free port.")
        try:
            # What messages may not do, pages may not do either.
            chosen = ViewParams(
                host=host,
                port=port,
                read_only=self.permissions.read_only,
                spawning=self.permissions.remote_spawn,
                browser=True,
            )
        except ConfigError as error:
            raise ConfigError(error.message, path=f"view_{error.path}") from error
        return chosen if shown else None

    def build_simulation(self) -> MultiRobotSimulationCore:
        """Return the simulation, not yet running; raises ConfigError."""
        sim = MultiRobotSimulationCore(self.simulation)
        # From now on those in use, which are copies.
        self.simulation, self.ros = sim.params, self.ros.in_use("the node")
        try:
            fill_scenario(sim, self._scenario, source=self._source)
            if self.robots:
                grid = {"grid": {"count": self.robots, "spacing": [SPACING, SPACING, 0.0]}}
                own = self._scenario.get("robots") or []
                spawn_entry_rows(sim.world, Agent, [SIMPLE_ROBOT | grid], path="robots")
                # Who builds it again from its scenario gets these too.
                sim.population.scenario = {**self._scenario, "robots": [*own, SIMPLE_ROBOT | grid]}
        except BaseException:
            sim.close()
            raise
        if self._paused:
            sim.pause()
        return sim

    def follow_changes(self, gateway: CommandGateway, rates: Rates) -> None:
        """Check and apply changes of parameters from now on."""
        self._gateway, self._rates = gateway, rates
        self._node.add_on_set_parameters_callback(self._on_set)

    def keep(self, sim: MultiRobotSimulationCore, namespace: str) -> None:
        """Begin to record what the parameters say of the new simulation `sim`; raises FleetSimError."""
        if self.record_inputs:
            InputRecorder(sim, self.record_inputs, source=str(Path(self._source).resolve()) if self._source else "")
        if self.record:
            frames = {"map_frame": self.ros.map_frame, "namespace": namespace}
            sim.record(self.record, **frames, sensors=self.record_sensors)

    # ---- declaring ---------------------------------------------------------------------------------------------------

    def _once(self, name: str, default: Any, text: str) -> Any:
        descriptor = ParameterDescriptor(description=text, read_only=True)
        value = self._node.declare_parameter(name, default, descriptor).value
        self._check(name, value is not None, "must have a value, got nothing")
        return value

    def _recorded_sensors(self) -> tuple[str, ...]:
        text = "Kinds of sensors whose readings recordings have, as lidar,imu; or all; empty: none."
        given = self._once("record_sensors", "", text)
        recorded = bool(self.record or self.record_folder)
        self._check("record_sensors", recorded or not given, "is about recordings; set record or record_folder too")
        return tuple(given.split(",")) if given else ()

    def _state_folder(self) -> OperatorFolder:
        text = "Folder of the files that /sim/save and /sim/load may name; empty: they work in memory only."
        try:
            return state_folder(self._once("state_folder", "", text))
        except InvalidValueError as error:
            raise ConfigError(str(error), path="state_folder") from error

    def _check(self, name: str, good: bool, message: str) -> None:
        if not good:
            raise ConfigError(message, path=name)

    def _declare_changeable(self) -> None:
        """Declare the parameters that may be set while the node runs, with the values in use."""
        text = "Simulated seconds per real second; 0 = as fast as possible."
        self.simulation.target_rtf = self._changeable("target_rtf", self.simulation.target_rtf, text)
        for field in fields(RateParams):
            text = f"{field.metadata['setting'].doc} Per simulated second; 0 = never."
            rate = getattr(self.ros.rates, field.name)
            shown = rate if rate is not None else 1.0 / self.simulation.timestep
            value = self._changeable(RATE_PREFIX + field.name, shown, text)
            # Only if it was set: None, each step, would otherwise become the number shown for it.
            if value != shown:
                setattr(self.ros.rates, field.name, value)

    def _changeable(self, name: str, default: float, text: str) -> float:
        # Dynamic typing, so that 2 is accepted for 2.0; the check below rejects wrong types with a reason.
        descriptor = ParameterDescriptor(description=text, dynamic_typing=True)
        value = self._node.declare_parameter(name, float(default), descriptor).value
        self._checked(name, value)
        return float(value)

    # ---- changing ----------------------------------------------------------------------------------------------------

    def _checked(self, name: str, value: object) -> None:
        """Raise ConfigError if `value` is not allowed for the parameter `name`."""
        owner: type[Any] = RateParams if name.startswith(RATE_PREFIX) else SimulationParams
        if value is None:
            raise ConfigError("must be a number, got nothing", path=name)
        try:
            owner(**{name.removeprefix(RATE_PREFIX): value})
        except ConfigError as error:
            raise ConfigError(error.message, path=name) from error

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        """Check new values, all of them before any counts; they are applied between two steps."""
        changes: dict[str, float] = {}
        for parameter in parameters:
            if parameter.name != "target_rtf" and not parameter.name.startswith(RATE_PREFIX):
                continue
            try:
                self.permissions.check_change()
                self._checked(parameter.name, parameter.value)
            except FleetSimError as error:
                return SetParametersResult(successful=False, reason=str(error))
            changes[parameter.name] = float(parameter.value)
        if changes:
            self._gateway.between_steps(lambda: self._apply(changes))
        return SetParametersResult(successful=True)

    def _apply(self, changes: Mapping[str, float]) -> None:
        """Apply changes in the simulation's thread. They affect the run's speed and publishing, not its result."""
        for name, value in changes.items():
            if name == "target_rtf":
                self.simulation.target_rtf = value
            else:
                self._rates.change(name.removeprefix(RATE_PREFIX), value)


# Every interface of the node, by name and in order. The files they are in are beside this one, one each.


STANDARD: dict[str, type[Interface]] = {}
# The package simulation_interfaces is not part of every ROS 2.
if find_spec("simulation_interfaces") is not None:
    from fleet_sim.ros.simulation_interfaces import StandardServices

    STANDARD = {"standard_services": StandardServices}

BUILT_IN: dict[str, type[Interface]] = {
    "clock": ClockTopic,
    "tf": TfTopic,
    "link_frames": LinkFramesTopic,
    "cmd_vel": CmdVelTopic,
    "goal_pose": GoalPoseTopic,
    "path": PathTopic,
    "joint_commands": JointCommandsTopic,
    "joint_trajectory": JointTrajectoryTopic,
    "odom": OdomTopic,
    "joint_states": JointStatesTopic,
    "plan": PlanTopic,
    "robot_description": RobotDescriptionTopic,
    "fleet_command": FleetCommandInterface,
    "fleet_states": FleetStatesTopic,
    "markers": MarkersTopic,
    "collisions": CollisionsTopic,
    "diagnostics": DiagnosticsTopic,
    "run_services": RunServices,
    "population_services": PopulationServices,
    "checkpoint_services": CheckpointServices,
    "picture_service": PictureService,
    "record_service": RecordService,
    **SENSORS,
    **STANDARD,
}

INTERFACES = Registry("ROS interface", subclasses_of(Interface), group="fleet_sim.ros_interface", built_in=BUILT_IN)
"""In the order in which they receive and publish: /clock comes before all messages stamped with it."""


def in_order() -> list[type[Interface]]:
    """Return the built-in interfaces in their order, then registered ones, then those of other packages."""
    # Own and registered ones stay where they are; entry points are appended.
    return list({**INTERFACES.registered(), **INTERFACES.all()}.values())


NAME = "fleet_sim"

FAST_DDS_START = 760.0
"""Processor time in s for the start of 1,000 robots with their actions on Fast DDS; it grows with the square."""
LONG_START = 30.0
"""A start that takes longer, in s, is announced."""

LOOK_PERIOD = 1.0
"""In s of real time, between two looks at the other nodes."""


class FleetSimNode(TopicNode):
    """The node `fleet_sim`: builds the simulation from its parameters and connects it to ROS.

    Raises ConfigError for an invalid scenario or parameter. Nothing moves before the simulation is run:
    `simulation.run_simulation()` in a thread, and an executor that spins this node in another. `arguments` are those
    that `rclpy.init` was given, for what a process needs a second context for.
    """

    def __init__(self, arguments: Sequence[str] | None = None) -> None:
        # Before the base class: an executor may ask for what it waits on as soon as there is a node.
        self._sleeping = SleepingServers(self._end_wait)
        super().__init__(NAME, arguments)
        self._settings = NodeParameters(self)
        self.simulation = sim = self._settings.build_simulation()
        self._announce_long_start()
        self._mailbox = Mailbox(self)
        self._rates = Rates(sim.clock, self._settings.ros.rates)
        self._bridge = self._build_bridge()
        self._actions = ActionInterface(self._bridge)
        interfaces = [*(interface(self._bridge) for interface in in_order()), self._actions]
        for interface in interfaces:
            if interface.rate:
                self._rates.add(interface.rate, interface.own_rate)
        # What one raises ends neither the step nor the others. After `max_failures` in a row it publishes no more, but
        # receiving is never switched off: a client with a message that makes an interface fail could send it until no
        # robot can be driven any more.
        self._interfaces = [(one, sim.guard.part(_title(one))) for one in interfaces]
        self._version = (-1, -1)
        self._update_fleet()
        self._check_complete()
        self._check_names()
        self._publish_everything()
        # Before `begin_step` counts the waiting commands: what arrives here is applied in this same step.
        sim.pipeline.add(System("ros_receive", Phase.UPDATE, self._receive), before="begin_step")
        sim.pipeline.add(System("ros_publish", Phase.OBSERVE, self._publish))
        for event in ("reset", "cleared", "world_loaded"):
            sim.events.on(event, self._on_reset)
        self._settings.follow_changes(self._bridge.gateway, self._rates)
        self._watch_others()
        self._settings.keep(sim, self.get_namespace())
        self._show()

    # ---- what an executor waits on -----------------------------------------------------------------------------------

    @property
    def waitables(self) -> Iterator[Any]:
        """What an executor has to wait on: of thousands of action servers those that something has come for."""
        yield from super().waitables
        yield from self._sleeping.awake

    def add_waitable(self, waitable: Any) -> None:
        """Have the executor wait on `waitable`; where it is an action server, only while it has something to do."""
        if isinstance(waitable, SimulatedActionServer) and self._sleeping.add(waitable, waitable.native):
            waitable.sleeping = self._sleeping
        else:
            super().add_waitable(waitable)

    def remove_waitable(self, waitable: Any) -> None:
        """Wait on `waitable` no longer."""
        # What sleeps has been removed before it was destroyed.
        if getattr(waitable, "sleeping", None) is None:
            super().remove_waitable(waitable)

    def _end_wait(self) -> None:
        if (executor := self.executor) is not None and self.context.ok():
            executor.wake()

    def _show(self) -> None:
        """Show the simulation in the browser, if that is asked for."""
        if self._settings.view is not None:
            view = self.simulation.view.show(**vars(self._settings.view))
            # Printed and not logged: logs go to every node of the network, and the address may have a secret in it.
            print(f"view: {view.url}", flush=True)

    def _build_bridge(self) -> Bridge:
        """Build what all interfaces share."""
        sim, params = self.simulation, self._settings.ros
        frames = Frames(params.map_frame, self.get_namespace())
        refusals = Throttle(self.get_logger().warning)
        sim.world.output_folder = self._settings.record_folder
        return Bridge(
            sim=sim,
            node=self,
            params=params,
            frames=frames,
            transforms=Transforms(sim.world, frames, self._listen_to_tf(frames)),
            time=RosTime(sim.clock),
            group=ReentrantCallbackGroup(),
            mailbox=self._mailbox,
            gateway=CommandGateway(sim, self._mailbox, refusals, self._settings.permissions),
            refusals=refusals,
            record_folder=self._settings.record_folder,
            record_sensors=self._settings.record_sensors,
        )

    def _announce_long_start(self) -> None:
        """Log that the start takes long, where it does: Fast DDS compares each new endpoint with all there are."""
        if "fastrtps" not in get_rmw_implementation_identifier():
            return
        robots = sum(self._settings.ros.has_own(name, "actions") for name in take_roster(self.simulation.world).names)
        seconds = FAST_DDS_START * (robots / 1000) ** 2
        if seconds > LONG_START:
            self.get_logger().warning(
                f"the start takes about {seconds:.0f} s of processor time, as Fast DDS compares each endpoint with all "
                f"others and {robots} robots have actions of their own. Faster: RMW_IMPLEMENTATION=rmw_cyclonedds_cpp, "
                "or no actions in ros.groups, or fewer robots in ros.per_robot"
            )

    def _watch_others(self) -> None:
        """Look once a second, in the executor, for nodes of the same name and for clients that left goals behind."""
        leases, warned = self._actions.watch_clients(self._settings.client_timeout), False
        own = (self.get_name(), self.get_namespace())

        def look() -> None:
            nonlocal warned
            leases.look()
            self._sleeping.look_at_some()
            # Nodes that start later are found by a later look.
            if not warned and self.get_node_names_and_namespaces().count(own) > 1:
                warned = True
                self.get_logger().error(
                    f"another node called {own[1].rstrip('/')}/{own[0]} is in this ROS domain: commands reach both, "
                    "clients get the answer of either. Give one of them another namespace or ROS_DOMAIN_ID"
                )

        # In real time: other processes do not stop when the simulation is paused.
        self.create_timer(LOOK_PERIOD, look, clock=RosClock(clock_type=ClockType.STEADY_TIME))

    def _listen_to_tf(self, frames: Frames) -> TfListener:
        def is_own(parent: str) -> bool:
            robot, part = frames.split(parent) or ("", "")
            return part == "odom" and self.simulation.world.index.has_name(robot)

        return TfListener(self, is_own, lambda what, reason: self._bridge.reject(what, reason))

    def _check_complete(self) -> None:
        """Raise StateError where the middleware has refused robots an interface, or log it where that is allowed."""
        news = self._bridge.lacking.news(self.simulation)
        if not news:
            return
        if not self._settings.incomplete:
            raise StateError(f"{news}. Give fewer robots interfaces (ros.per_robot), or go on with -p incomplete:=true")
        self.get_logger().error(f"{news}. They go on without (incomplete)")

    def _check_names(self) -> None:
        """Log the names in `per_robot` that do not exist; they may still be spawned."""
        wanted = self._bridge.params.per_robot
        for name in wanted if isinstance(wanted, list) else ():
            if not self.simulation.world.index.has_name(name):
                self.get_logger().warning(f"ros.per_robot: there is no robot {name!r} yet")

    @property
    def endpoint_count(self) -> int:
        """The number of DDS readers and writers: a service has one of each, an action server eight in all."""
        services = sum(1 for kind in (self.services, self.clients) for _ in kind)
        return self.topic_count + 2 * services + 8 * self._actions.server_count

    def tell_fault(self, line: str) -> None:
        """Log a fault in handling a request and count it as rejected; from any thread."""
        self._bridge.refusals.tell(line)

    def end_goals(self, patience: float) -> None:
        """Give every running goal its result; wait at most `patience` s for that. The executor must be spinning."""
        ended = Event()
        self._mailbox.post(lambda: self._actions.end_all(ended))
        ended.wait(patience)

    def destroy_node(self) -> None:
        """Close the simulation and leave ROS."""
        # First: what the simulation posts while it closes would have nobody to run it.
        self._sleeping.close()
        # A node that could not be made has none of them; rclpy of Kilted destroys it all the same.
        for part in ("_mailbox", "simulation"):
            if part in vars(self):
                getattr(self, part).close()
        super().destroy_node()

    # ---- in the simulation's thread ----------------------------------------------------------------------------------

    def _receive(self, dt: float) -> None:
        self._update_fleet()
        self._check_complete()
        for interface in self._receiving:
            try:
                interface.receive()
            except Exception:
                self.simulation.guard.note_failure(_title(interface), interface.receive)
        self._bridge.gateway.hand_in()

    def _publish(self, dt: float) -> None:
        """Publish what is due with the time of the step's end."""
        self._update_fleet()
        # The tick is counted after the last system, but what is published is the state at the end of the step.
        now = self._bridge.time.now(ticks_ahead=1)
        due = self._rates.due()
        for interface, part in self._publishing:
            if not interface.rate or interface.rate in due:
                part.call(interface.publish, now)
        for interface in self._ending:
            self.simulation.guard.call(_title(interface), interface.end_step)

    def _publish_everything(self) -> None:
        now = self._bridge.time.now()
        for interface, part in self._publishing:
            part.call(interface.publish, now)

    def _update_fleet(self) -> None:
        """Tell interfaces of a changed fleet, and list those that the step has to call."""
        sim = self.simulation
        version = sim.world.version, sim.sensors.version
        unfinished = self._bridge.unfinished
        if version == self._version and not unfinished.is_set():
            return
        self._version = version
        unfinished.clear()
        roster = take_roster(sim.world)
        for interface, _ in self._interfaces:
            sim.guard.call(_title(interface), interface.on_fleet_changed, roster)
        busy = [(one, part) for one, part in self._interfaces if sim.guard.call(_title(one), one.has_work)]
        self._receiving = [one for one, _ in busy if _does(one, "receive")]
        self._publishing = [(one, part) for one, part in busy if _does(one, "publish")]
        self._ending = [one for one, _ in self._interfaces if _does(one, "end_step")]

    def _on_reset(self) -> None:
        self._bridge.time.on_reset()
        for interface, _ in self._interfaces:
            self.simulation.guard.call(_title(interface), interface.on_reset)
        self._version = (-1, -1)
        self._update_fleet()
        self._publish_everything()


def _title(interface: Interface) -> str:
    return f"ROS interface {type(interface).__name__}"


def _does(interface: Interface, name: str) -> bool:
    """Return whether an interface has a method of its own called `name`, rather than the empty one of its base."""
    return getattr(type(interface), name) is not getattr(Interface, name)
