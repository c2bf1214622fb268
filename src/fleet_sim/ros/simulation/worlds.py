"""Worlds by simulation_interfaces: scenarios, loaded in place of one another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simulation_interfaces.msg import Result, WorldResource
from simulation_interfaces.srv import GetAvailableWorlds, GetCurrentWorld, LoadWorld, UnloadWorld

from fleet_sim.config.scenario import as_scenario, is_scenario
from fleet_sim.core.commands import Clear
from fleet_sim.entities.world_command import LoadWorld as LoadWorldCommand
from fleet_sim.entities.world_command import other_settings, world_folders
from fleet_sim.errors import ConfigError, FleetSimError, InvalidValueError, StateError
from fleet_sim.gate.remote import check_file, remote_input
from fleet_sim.paths import data_roots, expanded, is_file, resolve_config
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.simulation.answers import Refusal, serve, unsupported
from fleet_sim.ros.simulation.running import RunServicesOfStandard
from fleet_sim.settings import load_mapping, parse_remote

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
        gateway = self._bridge.gateway
        gateway.permissions.check_change()
        scenario, file = self._read(resource)
        try:
            left = other_settings(self._bridge.sim.params, scenario, str(file or ""))
            left += ["ros"] * ("ros" in scenario)
            if left and request.fail_on_unsupported_element:
                raise Refusal(CODES.UNSUPPORTED_ELEMENTS, _left_out(left))
            command = LoadWorldCommand(scenario=scenario, file=str(file or ""), source="load_world")
            await gateway.wait(gateway.send(lambda: command))
        except StateError:
            raise
        except FleetSimError as error:
            raise Refusal(CODES.RESOURCE_PARSE_ERROR, str(error)) from error
        self._current = response.world = _world(file, resource.resource_string)
        self._run.has_world = True
        await self._run.stop_here()
        return _left_out(left) if left else ""

    async def _unload(self, request: Any, response: Any) -> None:
        gateway = self._bridge.gateway
        if not self._run.has_world:
            raise Refusal(UnloadWorld.Response.NO_WORLD_LOADED, "no world is loaded")
        await gateway.wait(gateway.send(lambda: Clear(source="unload_world")))
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
        files = {file.name: file for folder in reversed(folders) for file in folder.glob("*.y*ml")}
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
            file = resolve_config(path)
            with remote_input(world_folders(self._bridge.sim.world)):
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
