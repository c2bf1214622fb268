"""/sim/disturb: disturbances are begun, ended and listed while the simulation runs."""

from __future__ import annotations

import math
import re
from typing import Any

from fleet_sim.base.errors import InvalidValueError, brief, known_names
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.warehouse import disturbances
from fleet_sim.world.commands import Command
from fleet_sim.world.conditions import CONDITIONS
from fleet_sim_msgs.srv import Disturb as DisturbService

MOST = 1000
"""Events in one response."""
_WORDS: dict[str, bool] = {"true": True, "false": False}


def value_of(text: str) -> float | int | bool | str:
    """Return what a text stands for: a number, true, false, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if re.fullmatch(r"[+-]?\d{1,15}", text):
        return int(text)
    number = re.fullmatch(r"[+-]?(\d{1,15}\.?\d{0,15}|\.\d{1,15})(e[+-]?\d{1,2})?", text)
    return text if number is None else float(text)


def entry_of(request: Any) -> dict[str, Any]:
    """Return the entry of a request to begin; raises FleetSimError."""
    if len(request.fields) != len(request.values):
        raise InvalidValueError(f"values: expected one for each of {len(request.fields)} fields")
    kinds = disturbances.DISTURBANCES
    if request.kind not in kinds:
        raise InvalidValueError(f"kind: unknown kind {brief(request.kind)}.{known_names(kinds.names())}")
    if not (math.isfinite(request.lasts) and request.lasts >= 0.0):
        raise InvalidValueError(f"lasts: expected seconds from 0 on, got {request.lasts}")
    entry: dict[str, Any] = {key: value_of(text) for key, text in zip(request.fields, request.values, strict=True)}
    aim = kinds.get(request.kind).aim
    if request.names:
        if aim is disturbances.Aim.AREA:
            raise InvalidValueError(f"names: a {request.kind} is aimed at an area")
        entry[aim.value] = list(request.names)
    if request.area.points:
        entry["area"] = [[float(point.x), float(point.y)] for point in request.area.points]
    if request.lasts > 0.0:
        entry["lasts"] = float(request.lasts)
    return {**entry, "kind": request.kind}


class DisturbInterface(Interface):
    """Begins, ends and lists disturbances; refused where nothing that arrives may change anything, but for the list.

    The service sim/disturb.
    """

    own_rate = None

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        bridge.serve(DisturbService, "sim/disturb", self._on_request)

    async def _on_request(self, request: Any, response: Any) -> None:
        kinds = DisturbService.Request
        if request.operation == kinds.LIST:
            await self.bridge.read(lambda: self._list(response))
        elif request.operation in (kinds.BEGIN, kinds.END):
            self.bridge.gateway.permissions.check_change()
            ack = await self.bridge.carry_out(lambda: self._command(request))
            response.id = next(iter(ack.accepted_names), "")
            if ack.rejected:
                raise InvalidValueError("; ".join(ack.rejected.values()))
        else:
            raise InvalidValueError(f"operation: expected BEGIN, END or LIST (0 to 2), got {request.operation}")

    def _command(self, request: Any) -> Command:
        if request.operation == DisturbService.Request.END:
            return disturbances.EndDisturbances(ids=(str(request.id),), source="sim/disturb")
        return disturbances.Disturb(entry=entry_of(request), id=str(request.id), source="sim/disturb")

    def _list(self, response: Any) -> None:
        sim = self.bridge.sim
        if CONDITIONS not in sim.features.used:
            return
        part: disturbances.Disturbances = sim.features.use(CONDITIONS)
        seconds = sim.clock.seconds
        for event in part.active[:MOST]:
            response.ids.append(event.id)
            response.kinds.append(part.kind_of(event))
            response.targets.append(event.target)
            response.since.append(seconds(event.begin))
            response.until.append(seconds(event.end) if event.end >= 0 else math.nan)
