"""/sim/pause, /sim/resume, /sim/step and /sim/reset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from std_srvs.srv import Trigger

from fleet_sim.core.commands import Reset
from fleet_sim.errors import FleetSimError, InvalidValueError, StateError
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.simulation_services import Handler, SimulationServices
from fleet_sim_msgs.srv import Step

MOST_STEPS = 1_000_000


class RunServices(SimulationServices):
    """Pauses, resumes, steps and resets the simulation. Responds when it is done.

    The services sim/pause, sim/resume, sim/step and sim/reset. sim/step needs a paused simulation and takes 1 to
    1,000,000 steps. A reset ends running goals with the cause SHUTDOWN; the time on /clock goes on.
    """

    def services(self) -> dict[str, tuple[Any, Handler]]:
        answers = {"pause": self._pause, "resume": self._resume, "reset": self._reset}
        return {name: (Trigger, answer) for name, answer in answers.items()} | {"step": (Step, self._step)}

    async def _pause(self, request: Any, response: Any) -> Any:
        was_paused = self._switch(self.bridge.sim.pause)
        response.success, response.message = True, "was paused already" if was_paused else "paused"
        return response

    async def _resume(self, request: Any, response: Any) -> Any:
        was_paused = self._switch(self.bridge.sim.resume)
        response.success, response.message = True, "runs" if was_paused else "was running already"
        return response

    def _switch(self, call: Callable[[], object]) -> bool:
        """Call `call` where changes are permitted; return whether the simulation was paused before."""
        self.bridge.gateway.permissions.check_change()
        # Asked before: afterwards the answer would always be the same.
        was_paused = self.bridge.sim.is_paused
        call()
        return was_paused

    async def _reset(self, request: Any, response: Any) -> Any:
        await self.bridge.gateway.wait(self.bridge.gateway.send(lambda: Reset(source="sim/reset")))
        response.success, response.message = True, "back at the initial state"
        return response

    async def _step(self, request: Any, response: Any) -> Any:
        try:
            await make_steps(self.bridge, int(request.steps))
            response.success = True
        except FleetSimError as error:
            response.message = str(error)
        response.stamp = time_to_msg(self.bridge.time.last)
        return response


async def make_steps(bridge: Bridge, count: int) -> None:
    """Make `count` steps of a paused simulation; raises InvalidValueError and StateError."""
    bridge.gateway.permissions.check_change()
    if not 1 <= count <= MOST_STEPS:
        raise InvalidValueError(f"steps: expected 1 to {MOST_STEPS}, got {count}")
    if not bridge.sim.is_paused:
        raise StateError("the simulation runs; call /sim/pause first")
    # In the simulation's thread: called in this one, `single_step` would block the executor until it is done.
    await bridge.gateway.wait(bridge.gateway.between_steps(lambda: bridge.sim.single_step(count)))
