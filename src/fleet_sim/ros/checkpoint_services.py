"""/sim/save and /sim/load: moments to go back to, by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fleet_sim.core.checkpoint import Checkpoint
from fleet_sim.errors import FleetSimError, InvalidValueError, unknown_name
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim_msgs.srv import Load, Save

MOST = 100
"""So many moments are kept; each is a copy of all state."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class CheckpointServices(Interface):
    """Saves and loads moments of the running simulation. Answers when it is done.

    They live in memory and end with the node: they hold actions and callbacks, which a file could only keep as code
    that runs when it is read.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._kept: dict[str, Checkpoint] = {}
        bridge.serve(Save, "sim/save", self._on_save)
        bridge.serve(Load, "sim/load", self._on_load)

    async def _on_save(self, request: Any, response: Any) -> Any:
        return await self._answer(response, lambda sim: self._save(sim, request.name))

    async def _on_load(self, request: Any, response: Any) -> Any:
        return await self._answer(response, lambda sim: self._load(sim, request.name))

    async def _answer(self, response: Any, work: Callable[[Any], object]) -> Any:
        try:
            await self.bridge.gateway.between_steps(work)
            response.success = True
        except FleetSimError as error:
            response.message = str(error)
        response.stamp = time_to_msg(self.bridge.time.last)
        response.names = list(self._kept)
        return response

    def _save(self, sim: Any, name: str) -> None:
        if _NAME.fullmatch(name) is None:
            allowed = "1 to 64 letters, digits, _, - and ."
            raise InvalidValueError(f"name: expected {allowed}, got {name!r}; moments are kept in memory, not in files")
        if name not in self._kept and len(self._kept) >= MOST:
            raise InvalidValueError(f"{MOST} moments are kept already; save under one of their names to replace it")
        checkpoint = sim.save_state()
        self._kept.pop(name, None)
        self._kept[name] = checkpoint

    def _load(self, sim: Any, name: str) -> None:
        checkpoint = self._kept.get(name)
        if checkpoint is None:
            raise unknown_name("saved moment", name, self._kept)
        sim.restore_state(checkpoint)
