"""/sim/save and /sim/load: named checkpoints."""

from __future__ import annotations

from typing import Any

from fleet_sim.core.commands import Command, RestoreState, SaveState
from fleet_sim.errors import FleetSimError
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim_msgs.srv import Load, Save


class CheckpointServices(Interface):
    """Saves and restores states of the running simulation, see `Moments`. Responds when it is done."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        bridge.serve(Save, "sim/save", self._on_save)
        bridge.serve(Load, "sim/load", self._on_load)

    async def _on_save(self, request: Any, response: Any) -> Any:
        return await self._answer(response, SaveState(name=request.name, source="sim/save"))

    async def _on_load(self, request: Any, response: Any) -> Any:
        return await self._answer(response, RestoreState(name=request.name, source="sim/load"))

    async def _answer(self, response: Any, command: Command) -> Any:
        gateway = self.bridge.gateway
        try:
            await gateway.wait(gateway.send(lambda: command))
            response.success = True
        except FleetSimError as error:
            response.message = str(error)
        response.stamp = time_to_msg(self.bridge.time.last)
        response.names = self.bridge.sim.dispatcher.moments.names
        return response
