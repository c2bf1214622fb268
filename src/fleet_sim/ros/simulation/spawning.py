"""Spawning by simulation_interfaces, and what can be spawned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simulation_interfaces.msg import Result, Spawnable, SpawnResult
from simulation_interfaces.srv import GetSpawnables, SpawnEntities, SpawnEntity

from fleet_sim.core import commands as c
from fleet_sim.core.ros_names import is_ros_name
from fleet_sim.core.world import World
from fleet_sim.errors import ConfigError, FleetSimError
from fleet_sim.models import list_all_models
from fleet_sim.paths import expanded
from fleet_sim.ros.conversions import pose_from_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.population_services import pose_entry
from fleet_sim.ros.simulation.answers import Refusal, result_of, serve, unsupported
from fleet_sim.ros.simulation.running import RunServicesOfStandard

FORMATS = ("urdf", "sdf", "mjcf")
SUFFIXES = (".urdf", ".sdf", ".xacro", ".xml", ".mjcf")
MOST_AT_ONCE = 1000
"""Requests in one SpawnEntities."""
CODES = SpawnEntity.Response


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
            raise Refusal(CODES.NO_RESOURCE, "uri: a model's name or the path of its description is needed")
        suffix = Path(path).suffix.lower()
        if suffix and suffix not in SUFFIXES:
            raise Refusal(CODES.UNSUPPORTED_FORMAT, f"uri: expected a file that ends in {', '.join(SUFFIXES)}")
        if request.entity_namespace.strip("/") not in ("", request.name):
            raise Refusal(CODES.NAMESPACE_INVALID, "entity_namespace: a robot's name is its namespace; leave it empty")
        try:
            ack = await self._bridge.gateway.wait(self._bridge.gateway.send(lambda: self._command(request, path)))
        except ConfigError as error:
            raise Refusal(CODES.RESOURCE_PARSE_ERROR, str(error)) from error
        return ack.accepted_names[0]

    def _command(self, request: Any, path: str) -> c.Command:
        """Return the command for a request; called between two steps, where the world may be read."""
        _check_name(self._bridge.sim.world, request.name, rename=request.allow_renaming)
        try:
            pose = self._bridge.transforms.pose_to_map(
                request.initial_pose.header.frame_id, pose_from_msg(request.initial_pose.pose)
            )
        except FleetSimError as error:
            raise Refusal(CODES.INVALID_POSE, str(error)) from error
        entry = {"pose": pose_entry(pose), "urdf_path": path, **({"name": request.name} if request.name else {})}
        return c.Spawn(robots=(entry,), rename=request.allow_renaming, source="spawn_entity")

    async def _spawnables(self, request: Any, response: Any) -> str:
        """List the models that are on this machine, by name and by file; returns which sources are not known."""
        for name, found in list_all_models().items():
            # Those of robot_descriptions would have to be downloaded first.
            if found["available"] and found["tier"] != "robot_descriptions":
                response.spawnables.append(Spawnable(uri=name, description=f"robot model, {found['tier']}"))
        for folder in self._bridge.sim.world.model_paths:
            for file in sorted(expanded(folder).glob("*")):
                if file.suffix.lower() in SUFFIXES:
                    response.spawnables.append(Spawnable(uri=file.resolve().as_uri(), description="file of a model"))
        unknown = ", ".join(source[:200] for source in request.sources)
        return f"sources that are not known here: {unknown}" if unknown else ""


def _check_name(world: World, name: str, *, rename: bool) -> None:
    """Raise Refusal if nothing can be spawned by that name."""
    if not (is_ros_name(name) or (rename and not name)):
        raise Refusal(CODES.NAME_INVALID, f"name: letters, digits and _ only, beginning with a letter; got {name!r}")
    if not rename and world.index.has_name(name):
        raise Refusal(CODES.NAME_NOT_UNIQUE, f"name: {name!r} is taken")
