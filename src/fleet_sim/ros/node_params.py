"""When interfaces are due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError
from fleet_sim.base.files import resolve_config
from fleet_sim.base.gate import LONGEST_TIME, OperatorFolder
from fleet_sim.base.params import SimulationParams, ViewParams
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
from fleet_sim.ros.commands import CommandGateway, Permissions, state_folder
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.clock import Clock, Schedule


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
