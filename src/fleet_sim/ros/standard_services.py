"""The services of simulation_interfaces, as in other simulators; served if that package is installed.

Only supported features are advertised. A reset restores the initial state and removes entities spawned since, but
published time does not go back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Twist
from simulation_interfaces.msg import EntityState, Result, SimulationState, SimulatorFeatures
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityState,
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    SpawnEntity,
    StepSimulation,
)

from fleet_sim.core import commands as c
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.ros_names import is_ros_name
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.core.world import World
from fleet_sim.errors import ConfigError, FleetSimError, StateError, UnknownNameError
from fleet_sim.gate.patterns import Pattern
from fleet_sim.ros.conversions import pose_from_msg, poses_to_msgs, time_to_msg, twists_to_msgs
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.population_services import pose_entry
from fleet_sim.ros.run_services import make_steps

FEATURES = (
    SimulatorFeatures.SPAWNING,
    SimulatorFeatures.DELETING,
    SimulatorFeatures.ENTITY_STATE_GETTING,
    SimulatorFeatures.ENTITY_STATE_SETTING,
    SimulatorFeatures.SIMULATION_RESET,
    SimulatorFeatures.SIMULATION_STATE_GETTING,
    SimulatorFeatures.SIMULATION_STATE_SETTING,
    SimulatorFeatures.SIMULATION_STATE_PAUSE,
    SimulatorFeatures.STEP_SIMULATION_SINGLE,
    SimulatorFeatures.STEP_SIMULATION_MULTIPLE,
)
# Without SCOPE_TIME: published time never goes back, see RosTime.
RESETS = (
    ResetSimulation.Request.SCOPE_DEFAULT,
    ResetSimulation.Request.SCOPE_STATE | ResetSimulation.Request.SCOPE_SPAWNED,
)


class Refusal(Exception):
    """A request is rejected with a result code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class StandardServices(Interface):
    """Serves simulation_interfaces below sim/, with the result codes of its definitions."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        for kind, name, work in (
            (GetSimulatorFeatures, "get_simulator_features", self._features),
            (SpawnEntity, "spawn_entity", self._spawn),
            (DeleteEntity, "delete_entity", self._delete),
            (GetEntities, "get_entities", self._entities),
            (GetEntitiesStates, "get_entities_states", self._states),
            (GetEntityState, "get_entity_state", self._state),
            (SetEntityState, "set_entity_state", self._set_state),
            (ResetSimulation, "reset_simulation", self._reset),
            (StepSimulation, "step_simulation", self._step),
            (GetSimulationState, "get_simulation_state", self._simulation_state),
            (SetSimulationState, "set_simulation_state", self._set_simulation_state),
        ):
            bridge.serve(kind, f"sim/{name}", _answering(work))

    # ---- entities ----------------------------------------------------------------------------------------------------

    async def _features(self, request: Any, response: Any) -> None:
        response.features.features = list(FEATURES)
        response.features.spawn_formats = ["urdf"]
        response.features.custom_info = "fleet_sim"

    async def _spawn(self, request: Any, response: Any) -> None:
        codes = SpawnEntity.Response
        # Versions of simulation_interfaces differ: in some the URI is in the request itself.
        resource = getattr(request, "entity_resource", request)
        path = resource.uri.removeprefix("file://")
        if not path:
            raise Refusal(codes.NO_RESOURCE, "uri: the path of a URDF file is needed")
        if request.entity_namespace:
            raise Refusal(codes.NAMESPACE_INVALID, "entity_namespace: a robot's name is its namespace; leave it empty")

        def spawn() -> c.Command:
            # Here and not earlier: this function is called between two steps, where the world may be read.
            _check_name(self.bridge.sim.world, request.name, rename=request.allow_renaming)
            try:
                pose = self.bridge.transforms.pose_to_map(
                    request.initial_pose.header.frame_id, pose_from_msg(request.initial_pose.pose)
                )
            except FleetSimError as error:
                raise Refusal(codes.INVALID_POSE, str(error)) from error
            entry = {"pose": pose_entry(pose), "urdf_path": path, **({"name": request.name} if request.name else {})}
            return c.Spawn(robots=(entry,), rename=request.allow_renaming, source="spawn_entity")

        try:
            ack = await self._send(spawn)
        except ConfigError as error:
            raise Refusal(codes.RESOURCE_PARSE_ERROR, str(error)) from error
        response.entity_name = ack.accepted_names[0]

    async def _delete(self, request: Any, response: Any) -> None:
        ack = await self._send(lambda: c.Remove(names=(request.entity,), source="delete_entity"))
        if not ack.ok:
            raise UnknownNameError(f"unknown entity {request.entity!r}")

    async def _entities(self, request: Any, response: Any) -> None:
        response.entities = _matching(await self._snapshot(), request.filters)

    async def _states(self, request: Any, response: Any) -> None:
        snapshot = await self._snapshot()
        response.entities = _matching(snapshot, request.filters)
        response.states = self._states_of(snapshot, response.entities)

    async def _state(self, request: Any, response: Any) -> None:
        response.state = self._states_of(await self._snapshot(), [request.entity])[0]

    async def _set_state(self, request: Any, response: Any) -> None:
        # Where messages have no flag `set_twist`, a twist other than zero means that it is to be set.
        if getattr(request, "set_twist", request.state.twist != Twist()) and request.state.twist != Twist():
            raise Refusal(Result.RESULT_FEATURE_UNSUPPORTED, "twist: robots are driven by cmd_vel; leave it zero")

        def place() -> c.Command:
            # An unknown name is reported first, whatever else is wrong with the request.
            self.bridge.sim.world.index.row_named(request.entity)
            try:
                frame, pose = request.state.header.frame_id, pose_from_msg(request.state.pose)
                pose = self.bridge.transforms.pose_to_map(frame, pose)
            except FleetSimError as error:
                raise Refusal(SetEntityState.Response.INVALID_POSE, str(error)) from error
            return c.SetPoses(
                names=(request.entity,),
                positions=np.array([pose.position]),
                orientations=np.array([pose.orientation]),
                preserve_velocity=False,
                source="set_entity_state",
            )

        # Versions without this flag always set the pose.
        if getattr(request, "set_pose", True):
            ack = await self._send(place)
            for reason in ack.rejected.values():
                raise StateError(reason)

    def _states_of(self, snapshot: Snapshot, names: Sequence[str]) -> list[EntityState]:
        indices = np.array([snapshot.index_of(name) for name in names], np.int64)
        poses = poses_to_msgs(snapshot.positions[indices], snapshot.orientations[indices])
        # The state's twist is in the frame of its header, the map.
        twists = twists_to_msgs(snapshot.velocities[indices], snapshot.angular_velocities[indices])
        states = []
        for pose, twist in zip(poses, twists, strict=True):
            state = EntityState(pose=pose, twist=twist)
            state.header.frame_id = self.bridge.frames.map
            state.header.stamp = time_to_msg(self.bridge.time.last)
            states.append(state)
        return states

    # ---- the simulation ----------------------------------------------------------------------------------------------

    async def _reset(self, request: Any, response: Any) -> None:
        if request.scope not in RESETS:
            reason = f"scope: {RESETS[0]} (default) or {RESETS[1]} (state and spawned) can be reset, time goes on"
            raise Refusal(Result.RESULT_FEATURE_UNSUPPORTED, f"{reason}; got {request.scope}")
        await self._send(lambda: c.Reset(source="reset_simulation"))

    async def _step(self, request: Any, response: Any) -> None:
        await make_steps(self.bridge, int(request.steps))

    async def _simulation_state(self, request: Any, response: Any) -> None:
        paused = self.bridge.sim.is_paused
        response.state.state = SimulationState.STATE_PAUSED if paused else SimulationState.STATE_PLAYING

    async def _set_simulation_state(self, request: Any, response: Any) -> None:
        self.bridge.gateway.permissions.check_change()
        sim, wanted = self.bridge.sim, request.state.state
        if wanted not in (SimulationState.STATE_PLAYING, SimulationState.STATE_PAUSED):
            raise Refusal(Result.RESULT_FEATURE_UNSUPPORTED, f"state: only PLAYING (1) and PAUSED (2), got {wanted}")
        if sim.is_paused == (wanted == SimulationState.STATE_PAUSED):
            raise Refusal(SetSimulationState.Response.ALREADY_IN_TARGET_STATE, "it is in that state already")
        (sim.pause if wanted == SimulationState.STATE_PAUSED else sim.resume)()

    async def _send(self, make: Callable[[], c.Command]) -> CommandAck:
        return await self.bridge.gateway.wait(self.bridge.gateway.send(make))

    async def _snapshot(self) -> Snapshot:
        """Return a snapshot taken after all commands that were sent before."""
        return await self.bridge.gateway.wait(self.bridge.sim.snapshots.request())


def _answering(work: Callable[[Any, Any], Awaitable[None]]) -> Callable[[Any, Any], Awaitable[Any]]:
    """Return a service callback that fills in the response's result."""

    async def answer(request: Any, response: Any) -> Any:
        code, reason = Result.RESULT_OK, ""
        try:
            await work(request, response)
        except Refusal as refusal:
            code, reason = refusal.code, str(refusal)
        except UnknownNameError as error:
            code, reason = Result.RESULT_NOT_FOUND, str(error)
        except StateError as error:
            code, reason = Result.RESULT_INCORRECT_STATE, str(error)
        except FleetSimError as error:
            code, reason = Result.RESULT_OPERATION_FAILED, str(error)
        if hasattr(response, "result"):
            response.result = Result(result=code, error_message=reason)
        return response

    return answer


def _matching(snapshot: Snapshot, filters: Any) -> list[str]:
    """Return the names that match; raises Refusal for filters that are not supported and a wrong expression."""
    if filters.categories or filters.tags.tags or filters.bounds.points:
        raise Refusal(Result.RESULT_FEATURE_UNSUPPORTED, "filters: entities are filtered by name only")
    wanted = Pattern(filters.filter, "filters.filter")
    return [name for name in snapshot.names if wanted.search(name)]


def _check_name(world: World, name: str, *, rename: bool) -> None:
    """Raise Refusal if nothing can be spawned by that name."""
    codes = SpawnEntity.Response
    if not (is_ros_name(name) or (rename and not name)):
        raise Refusal(codes.NAME_INVALID, f"name: letters, digits and _ only, beginning with a letter; got {name!r}")
    if not rename and world.index.has_name(name):
        raise Refusal(codes.NAME_NOT_UNIQUE, f"name: {name!r} is taken")
