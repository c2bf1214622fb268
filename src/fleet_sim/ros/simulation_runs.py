"""simulation_interfaces: state, steps and resets of the run, worlds, and spawning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import Result, SimulationState, Spawnable, SpawnResult, WorldResource
from simulation_interfaces.srv import (
    GetAvailableWorlds,
    GetCurrentWorld,
    GetSimulationState,
    GetSpawnables,
    LoadWorld,
    ResetSimulation,
    SetSimulationState,
    SpawnEntities,
    SpawnEntity,
    StepSimulation,
    UnloadWorld,
)

from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, StateError
from fleet_sim.base.files import check_file, data_roots, expanded, is_file, listed, remote_input, resolve_config
from fleet_sim.base.scenario import as_scenario, is_scenario
from fleet_sim.base.settings import load_mapping, parse_remote
from fleet_sim.models import list_all_models
from fleet_sim.robots.dispatch import LoadWorld as LoadWorldCommand
from fleet_sim.robots.dispatch import other_settings, world_folders
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.messages import pose_from_msg
from fleet_sim.ros.services import MOST_STEPS, make_steps, pose_entry
from fleet_sim.ros.simulation_answers import Refusal, result_of, serve, unsupported
from fleet_sim.world import commands as c
from fleet_sim.world.commands import Clear, is_ros_name
from fleet_sim.world.world import World, spawned_since

STATES = (
    SimulationState.STATE_STOPPED,
    SimulationState.STATE_PLAYING,
    SimulationState.STATE_PAUSED,
    SimulationState.STATE_QUITTING,
)
RESETS = ResetSimulation.Request
TIME_GOES_ON = "published time goes on: it never goes back here"


class RunServicesOfStandard:
    """Plays, pauses, stops, steps and resets the simulation, and tells what it is doing.

    Below sim/: reset_simulation, step_simulation, get_simulation_state, set_simulation_state, and the action
    simulate_steps.
    """

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self.has_world = True
        # Where it was stopped: after a step or a resume it is stopped no longer.
        self._stopped_at: int | None = None
        self._stepping = False
        serve(bridge, ResetSimulation, "reset_simulation", self._reset)
        serve(bridge, StepSimulation, "step_simulation", self._step)
        serve(bridge, GetSimulationState, "get_simulation_state", self._state)
        serve(bridge, SetSimulationState, "set_simulation_state", self._set_state)
        self.action = ActionServer(
            bridge.node,
            SimulateSteps,
            "sim/simulate_steps",
            self._simulate,
            goal_callback=self._wants,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
            callback_group=bridge.group,
            **qos.GOALS,
        )

    def require_world(self) -> None:
        """Raise StateError where no world is loaded."""
        if not self.has_world:
            raise StateError("no world is loaded; call load_world first")

    async def stop_here(self) -> None:
        """Pause the simulation, and regard it as stopped."""
        await self._bridge.read(self._stop)

    def _stop(self) -> None:
        # Between two steps: a step that has begun when it is paused is finished, and would count as one after the stop.
        self._bridge.sim.pause()
        self._stopped_at = self._bridge.sim.world.clock.tick

    # ---- the services ------------------------------------------------------------------------------------------------

    async def _reset(self, request: Any, response: Any) -> str:
        """Reset what the scope names; returns what of it stays, as published time never goes back."""
        self.require_world()
        if request.scope in (RESETS.SCOPE_DEFAULT, RESETS.SCOPE_ALL, RESETS.SCOPE_STATE | RESETS.SCOPE_SPAWNED):
            await self._bridge.carry_out(lambda: c.Reset(source="reset_simulation"))
            return "" if request.scope & RESETS.SCOPE_STATE and request.scope < RESETS.SCOPE_ALL else TIME_GOES_ON
        if request.scope == RESETS.SCOPE_SPAWNED:
            await self._bridge.carry_out(self._removal)
            return ""
        raise unsupported(
            "scope: 0 and 255 (all), 4 (spawned) and 6 (state and spawned) can be reset, and published time goes on; "
            f"got {request.scope}"
        )

    def _removal(self) -> c.Command:
        """Return the command that removes what was spawned since the start."""
        sim = self._bridge.sim
        rows = [] if sim.state.initial is None else spawned_since(sim.world, sim.state.initial.world).tolist()
        return c.Remove(names=tuple(sim.world.label(row) for row in rows), source="reset_simulation")

    async def _step(self, request: Any, response: Any) -> None:
        await self._make_steps(int(request.steps))

    async def _make_steps(self, count: int) -> None:
        self.require_world()
        try:
            await make_steps(self._bridge, count)
        except StateError as error:
            # The definition names this code for a simulation that is not paused.
            raise Refusal(Result.RESULT_OPERATION_FAILED, str(error)) from error

    async def _state(self, request: Any, response: Any) -> None:
        response.state.state = self._now()

    def _now(self) -> int:
        sim = self._bridge.sim
        if not self.has_world:
            return int(SimulationState.STATE_NO_WORLD)
        if not sim.is_paused:
            return int(SimulationState.STATE_PLAYING)
        stopped = self._stopped_at == sim.world.clock.tick
        return int(SimulationState.STATE_STOPPED if stopped else SimulationState.STATE_PAUSED)

    async def _set_state(self, request: Any, response: Any) -> None:
        """Change between playing, paused and stopped, or end the run; raises Refusal with the code of the standard."""
        sim, wanted = self._bridge.sim, request.state.state
        self._bridge.gateway.permissions.check_change()
        if wanted not in STATES:
            raise InvalidValueError(f"state: STOPPED (0), PLAYING (1), PAUSED (2) or QUITTING (3), got {wanted}")
        if wanted == SimulationState.STATE_QUITTING:
            # The run ends, and with it the node, once this was answered.
            self._bridge.mailbox.post(sim.stop)
            return
        self.require_world()
        if wanted == self._now():
            raise Refusal(SetSimulationState.Response.ALREADY_IN_TARGET_STATE, "it is in that state already")
        if wanted == SimulationState.STATE_STOPPED:
            sim.pause()
            await self._bridge.carry_out(lambda: c.Reset(source="set_simulation_state"))
            await self.stop_here()
            return
        self._stopped_at = None
        (sim.pause if wanted == SimulationState.STATE_PAUSED else sim.resume)()

    # ---- the action --------------------------------------------------------------------------------------------------

    def _wants(self, goal: Any) -> GoalResponse:
        """Accept a goal where no other one runs and the number of steps is in range; say why not."""
        try:
            self._bridge.gateway.permissions.check_change()
            if self._stepping:
                raise StateError("another goal is running")
            if not 1 <= goal.steps <= MOST_STEPS:
                raise InvalidValueError(f"steps: expected 1 to {MOST_STEPS}, got {goal.steps}")
        except FleetSimError as error:
            self._bridge.reject("goal of sim/simulate_steps", error)
            return GoalResponse.REJECT
        self._stepping = True
        return GoalResponse.ACCEPT

    async def _simulate(self, handle: Any) -> Any:
        """Make steps one by one with feedback after each, until all are made or the goal is cancelled."""
        steps = int(handle.request.steps)
        try:
            for done in range(1, steps + 1):
                if handle.is_cancel_requested:
                    handle.canceled()
                    reason = f"cancelled after {done - 1} of {steps} steps"
                    return _steps_result(Result(result=Result.RESULT_OPERATION_FAILED, error_message=reason))
                await self._make_steps(1)
                handle.publish_feedback(SimulateSteps.Feedback(completed_steps=done, remaining_steps=steps - done))
        except (Refusal, FleetSimError) as error:
            handle.abort()
            return _steps_result(result_of(error))
        finally:
            self._stepping = False
        handle.succeed()
        return _steps_result(Result(result=Result.RESULT_OK))


def _steps_result(result: Result) -> Any:
    return SimulateSteps.Result(result=result)


# Worlds by simulation_interfaces: scenarios, loaded in place of one another.


CODES = LoadWorld.Response
SUFFIXES = (".yaml", ".yml")


class WorldServices:
    """Loads scenarios: shipped ones, files below the folders of models, and texts.

    Below sim/: load_world, unload_world, get_current_world and get_available_worlds. A loaded scenario keeps the
    running node's own settings; the response says which of its settings do not count.
    """

    def __init__(self, bridge: Bridge, run: RunServicesOfStandard) -> None:
        self._bridge = bridge
        self._run = run
        file = bridge.sim.origin.source
        self._current: WorldResource | None = _world(Path(file) if file else None)
        serve(bridge, LoadWorld, "load_world", self._load)
        serve(bridge, UnloadWorld, "unload_world", self._unload)
        serve(bridge, GetCurrentWorld, "get_current_world", self._current_world)
        serve(bridge, GetAvailableWorlds, "get_available_worlds", self._available)

    async def _load(self, request: Any, response: Any) -> str:
        """Load a scenario in place of the present one; returns which of its settings do not count here."""
        # In later versions of the definitions the two are in a message of their own.
        resource = getattr(request, "world_resource", request)
        self._bridge.gateway.permissions.check_change()
        scenario, file = self._read(resource)
        try:
            with remote_input(world_folders(self._bridge.sim.world)):
                left = other_settings(self._bridge.sim.params, scenario, str(file or ""))
            left += ["ros"] * ("ros" in scenario)
            if left and request.fail_on_unsupported_element:
                raise Refusal(CODES.UNSUPPORTED_ELEMENTS, _left_out(left))
            command = LoadWorldCommand(scenario=scenario, file=str(file or ""), source="load_world")
            await self._bridge.carry_out(lambda: command)
        except StateError:
            raise
        except FleetSimError as error:
            raise Refusal(CODES.RESOURCE_PARSE_ERROR, str(error)) from error
        self._current = response.world = _world(file, resource.resource_string)
        self._run.has_world = True
        await self._run.stop_here()
        return _left_out(left) if left else ""

    async def _unload(self, request: Any, response: Any) -> None:
        if not self._run.has_world:
            raise Refusal(UnloadWorld.Response.NO_WORLD_LOADED, "no world is loaded")
        await self._bridge.carry_out(lambda: Clear(source="unload_world"))
        self._bridge.sim.pause()
        self._run.has_world, self._current = False, None

    async def _current_world(self, request: Any, response: Any) -> None:
        if self._current is None:
            raise Refusal(GetCurrentWorld.Response.NO_WORLD_LOADED, "no world is loaded")
        response.world = self._current

    async def _available(self, request: Any, response: Any) -> str:
        """List the scenarios that are shipped or in folders of models; returns what was asked for and is not known."""
        if request.filter.tags:
            raise unsupported("filter.tags: worlds have no tags here; leave it empty")
        unknown = ", ".join(source[:200] for source in request.additional_sources)
        if unknown and not request.continue_on_error:
            raise Refusal(Result.RESULT_OPERATION_FAILED, f"additional_sources: not known here: {unknown}")
        folders = [root / "config" / kind for root in data_roots() for kind in ("", "sites")]
        folders += [expanded(folder) for folder in self._bridge.sim.world.model_paths]
        files = {file.name: file for folder in reversed(folders) for file in listed(folder, "*.y*ml")}
        # By name; the file of a model's folder comes before a shipped one, as it does when it is loaded by its path.
        response.worlds = [_world(files[name]) for name in sorted(files) if _is_world(files[name])]
        return f"additional_sources: not known here: {unknown}" if unknown else ""

    def _read(self, resource: Any) -> tuple[dict[str, Any], Path | None]:
        """Return the scenario of a resource and its file, None for a text; raises Refusal."""
        path = resource.uri.removeprefix("file://")
        if not path and not resource.resource_string:
            raise Refusal(CODES.NO_RESOURCE, "uri: the name of a shipped scenario or the path of a file is needed")
        try:
            if not path:
                return _scenario(parse_remote(resource.resource_string, "resource_string")), None
            if Path(path).suffix not in SUFFIXES:
                raise Refusal(CODES.UNSUPPORTED_FORMAT, f"uri: expected a scenario, {' or '.join(SUFFIXES)}")
            with remote_input(world_folders(self._bridge.sim.world)):
                file = resolve_config(path)
                check_file(file, "uri")
                if not is_file(file):
                    raise Refusal(Result.RESULT_NOT_FOUND, f"uri: there is no file {path[:200]!r}")
                return _scenario(load_mapping(file)), file
        except FleetSimError as error:
            code = Result.RESULT_NOT_FOUND if path and "/" not in path else CODES.RESOURCE_PARSE_ERROR
            raise Refusal(code, str(error)) from error


def _scenario(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or not is_scenario(as_scenario(content)):
        raise InvalidValueError("expected a scenario: a mapping with sections such as robots, objects or site")
    return dict(as_scenario(content))


def _is_world(file: Path) -> bool:
    try:
        return is_scenario(as_scenario(load_mapping(file)))
    except ConfigError:
        return False


def _world(file: Path | None, text: str = "") -> WorldResource:
    """Return what is told of a world: of a file, a text, or of the empty one that nothing was given for."""
    if file is None:
        world = WorldResource(name="text" if text else "empty")
        world.world_resource.resource_string = text
        return world
    world = WorldResource(name=file.stem)
    world.world_resource.uri = file.resolve().as_uri()
    return world


def _left_out(names: list[str]) -> str:
    return f"left out, as they are set where the node starts: {', '.join(names)}"


# Spawning by simulation_interfaces, and what can be spawned.


FORMATS = ("urdf", "sdf", "mjcf")
SPAWNING_SUFFIXES = (".urdf", ".sdf", ".xacro", ".xml", ".mjcf")
MOST_AT_ONCE = 1000
"""Requests in one SpawnEntities."""
SPAWNING_CODES = SpawnEntity.Response


class SpawnServices:
    """Spawns robots from files and from models known by name.

    Below sim/: spawn_entity, spawn_entities and get_spawnables. A URI is a model's name or the path of its description.
    Each of several requests has a result of its own.
    """

    def __init__(self, bridge: Bridge, run: RunServicesOfStandard) -> None:
        self._bridge = bridge
        self._run = run
        serve(bridge, SpawnEntity, "spawn_entity", self._spawn)
        serve(bridge, SpawnEntities, "spawn_entities", self._spawn_all)
        serve(bridge, GetSpawnables, "get_spawnables", self._spawnables)

    async def _spawn(self, request: Any, response: Any) -> None:
        response.entity_name = await self._spawned(request)

    async def _spawn_all(self, request: Any, response: Any) -> None:
        """Spawn one after the other; each has its own result, and Refusal says how many failed."""
        if len(request.spawn_requests) > MOST_AT_ONCE:
            reason = f"spawn_requests: at most {MOST_AT_ONCE} at once, got {len(request.spawn_requests)}"
            raise Refusal(Result.RESULT_OPERATION_FAILED, reason)
        for one in request.spawn_requests:
            # One after the other: each has its own result, and the others are spawned all the same.
            try:
                name = await self._spawned(one)
                response.results.append(SpawnResult(result=Result(result=Result.RESULT_OK), entity_name=name))
            except (Refusal, FleetSimError) as error:
                response.results.append(SpawnResult(result=result_of(error)))
        failed = sum(one.result.result != Result.RESULT_OK for one in response.results)
        if failed:
            raise Refusal(
                SpawnEntities.Response.ENTITIES_SPAWN_FAILED,
                f"{failed} of {len(response.results)} could not be spawned; see results",
            )

    async def _spawned(self, request: Any) -> str:
        """Spawn what one request asks for and return its name; raises Refusal and FleetSimError."""
        self._run.require_world()
        # Versions of simulation_interfaces differ: in some the URI is in the request itself.
        resource = getattr(request, "entity_resource", request)
        path = resource.uri.removeprefix("file://")
        if not path and resource.resource_string:
            raise unsupported("resource_string: only files and models known by name are spawned; give a uri")
        if not path:
            raise Refusal(SPAWNING_CODES.NO_RESOURCE, "uri: a model's name or the path of its description is needed")
        suffix = Path(path).suffix.lower()
        if suffix and suffix not in SPAWNING_SUFFIXES:
            raise Refusal(
                SPAWNING_CODES.UNSUPPORTED_FORMAT, f"uri: expected a file that ends in {', '.join(SPAWNING_SUFFIXES)}"
            )
        if request.entity_namespace.strip("/") not in ("", request.name):
            raise Refusal(
                SPAWNING_CODES.NAMESPACE_INVALID, "entity_namespace: a robot's name is its namespace; leave it empty"
            )
        try:
            ack = await self._bridge.carry_out(lambda: self._command(request, path))
        except ConfigError as error:
            raise Refusal(SPAWNING_CODES.RESOURCE_PARSE_ERROR, str(error)) from error
        return ack.accepted_names[0]

    def _command(self, request: Any, path: str) -> c.Command:
        """Return the command for a request; called between two steps, where the world may be read."""
        _check_name(self._bridge.sim.world, request.name, rename=request.allow_renaming)
        try:
            pose = self._bridge.transforms.pose_to_map(
                request.initial_pose.header.frame_id, pose_from_msg(request.initial_pose.pose)
            )
        except FleetSimError as error:
            raise Refusal(SPAWNING_CODES.INVALID_POSE, str(error)) from error
        entry = {"pose": pose_entry(pose), "urdf_path": path, **({"name": request.name} if request.name else {})}
        return c.Spawn(robots=(entry,), rename=request.allow_renaming, source="spawn_entity")

    async def _spawnables(self, request: Any, response: Any) -> str:
        """List the models that are on this machine, by name and by file; returns which sources are not known."""
        for name, found in list_all_models().items():
            # Those of robot_descriptions would have to be downloaded first.
            if found["available"] and found["tier"] != "robot_descriptions":
                response.spawnables.append(Spawnable(uri=name, description=f"robot model, {found['tier']}"))
        for folder in self._bridge.sim.world.model_paths:
            for file in listed(expanded(folder)):
                if file.suffix.lower() in SPAWNING_SUFFIXES:
                    response.spawnables.append(Spawnable(uri=file.resolve().as_uri(), description="file of a model"))
        unknown = ", ".join(source[:200] for source in request.sources)
        return f"sources that are not known here: {unknown}" if unknown else ""


def _check_name(world: World, name: str, *, rename: bool) -> None:
    """Raise Refusal if nothing can be spawned by that name."""
    if not (is_ros_name(name) or (rename and not name)):
        raise Refusal(
            SPAWNING_CODES.NAME_INVALID, f"name: letters, digits and _ only, beginning with a letter; got {name!r}"
        )
    if not rename and world.index.has_name(name):
        raise Refusal(SPAWNING_CODES.NAME_NOT_UNIQUE, f"name: {name!r} is taken")
