"""/sim/save and /sim/load: checkpoints by name, and states in files of the operator's folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleet_sim.core.commands import Command, RestoreState, SaveState
from fleet_sim.errors import FleetSimError
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim_msgs.srv import Load, Save


class CheckpointServices(Interface):
    """Saves and restores states of the running simulation, see `Moments`. Responds when it is done.

    The services sim/save and sim/load. States are kept in memory by name, at most 100 of them, or written to files
    below `state_folder`. Goals that did not run when the state was saved end with the cause SHUTDOWN when it is loaded.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        bridge.serve(Save, "sim/save", self._on_save)
        bridge.serve(Load, "sim/load", self._on_load)

    async def _on_save(self, request: Any, response: Any) -> Any:
        if request.file:
            return await self._with_file(response, lambda: self._save(request.file))
        return await self._answer(response, SaveState(name=request.name, source="sim/save"))

    async def _on_load(self, request: Any, response: Any) -> Any:
        if request.file:
            return await self._with_file(response, lambda: self._load(request.file))
        return await self._answer(response, RestoreState(name=request.name, source="sim/load"))

    def _save(self, name: str) -> None:
        self.bridge.sim.save_state(self.bridge.gateway.permissions.states.file_to_write(name))

    def _load(self, name: str) -> None:
        self.bridge.sim.load_state(self.bridge.gateway.permissions.states.file_to_read(name))

    async def _with_file(self, response: Any, call: Callable[[], None]) -> Any:
        """Call `call` between two steps; a file is refused where nothing that arrives may change anything."""
        gateway = self.bridge.gateway
        try:
            gateway.permissions.check_change()
            await gateway.wait(gateway.between_steps(call))
            response.success = True
        except FleetSimError as error:
            response.message = str(error)
        return self._told(response)

    async def _answer(self, response: Any, command: Command) -> Any:
        gateway = self.bridge.gateway
        try:
            await gateway.wait(gateway.send(lambda: command))
            response.success = True
        except FleetSimError as error:
            response.message = str(error)
        return self._told(response)

    def _told(self, response: Any) -> Any:
        response.stamp = time_to_msg(self.bridge.time.last)
        response.names = self.bridge.sim.dispatcher.moments.names
        return response
