"""The run by simulation_interfaces: its state, steps and resets."""

from __future__ import annotations

from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import Result, SimulationState
from simulation_interfaces.srv import GetSimulationState, ResetSimulation, SetSimulationState, StepSimulation

from fleet_sim.core import commands as c
from fleet_sim.core.world_state import spawned_since
from fleet_sim.errors import FleetSimError, InvalidValueError, StateError
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.run_services import MOST_STEPS, make_steps
from fleet_sim.ros.simulation.answers import Refusal, result_of, serve, unsupported

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
        )

    def require_world(self) -> None:
        """Raise StateError where no world is loaded."""
        if not self.has_world:
            raise StateError("no world is loaded; call load_world first")

    async def stop_here(self) -> None:
        """Pause the simulation, and regard it as stopped."""
        await self._bridge.gateway.wait(self._bridge.gateway.between_steps(self._stop))

    def _stop(self) -> None:
        # Between two steps: a step that has begun when it is paused is finished, and would count as one after the stop.
        self._bridge.sim.pause()
        self._stopped_at = self._bridge.sim.world.clock.tick

    # ---- the services ------------------------------------------------------------------------------------------------

    async def _reset(self, request: Any, response: Any) -> str:
        """Reset what the scope names; returns what of it stays, as published time never goes back."""
        self.require_world()
        gateway = self._bridge.gateway
        if request.scope in (RESETS.SCOPE_DEFAULT, RESETS.SCOPE_ALL, RESETS.SCOPE_STATE | RESETS.SCOPE_SPAWNED):
            await gateway.wait(gateway.send(lambda: c.Reset(source="reset_simulation")))
            return "" if request.scope & RESETS.SCOPE_STATE and request.scope < RESETS.SCOPE_ALL else TIME_GOES_ON
        if request.scope == RESETS.SCOPE_SPAWNED:
            await gateway.wait(gateway.send(self._removal))
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
        gateway, sim, wanted = self._bridge.gateway, self._bridge.sim, request.state.state
        gateway.permissions.check_change()
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
            await gateway.wait(gateway.send(lambda: c.Reset(source="set_simulation_state")))
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
