"""/fleet/command: one command to many robots, as a topic and as a service."""

from __future__ import annotations

import math
from typing import Any

from geometry_msgs.msg import Pose, Twist

from fleet_sim.actions.move_to import MoveTo
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.commands import CancelActions, Command, ExecuteAction, Navigate, SetPoses, SetVelocity, Stop
from fleet_sim.errors import FleetSimError, InvalidValueError
from fleet_sim.geometry import Pose as Goal
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import ack_to_msg, poses_from_msgs, twists_from_msgs
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim_msgs.msg import CommandResult, FleetCommand
from fleet_sim_msgs.srv import SendFleetCommand

KINDS = ("NAVIGATE", "VELOCITY", "STOP", "SET_POSES", "CANCEL")


class FleetCommandInterface(Interface):
    """Applies fleet commands and returns the accepted names and the reasons for the others.

    The result is the response of the service; for the topic it is published on /fleet/command_result.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._results = bridge.node.create_publisher(CommandResult, "fleet/command_result", qos.FLEET_COMMAND)
        bridge.subscribe(FleetCommand, "fleet/command", self._on_message, qos.FLEET_COMMAND)
        bridge.serve(SendFleetCommand, "fleet/command", self._on_request)

    async def _on_message(self, message: FleetCommand) -> None:
        result = await self._apply(message)
        self._results.publish(result)
        # The sender on a topic may not listen to the results, so rejections are logged too.
        for name, reason in zip(result.rejected, result.reasons, strict=True):
            self.bridge.reject(f"fleet/command {name}", reason)
        if result.error:
            self.bridge.reject("fleet/command", result.error)

    async def _on_request(self, request: Any, response: Any) -> Any:
        response.result = await self._apply(request.command)
        return response

    async def _apply(self, message: FleetCommand) -> CommandResult:
        gateway = self.bridge.gateway
        try:
            # The command is made between two steps, as its frames are looked up in the world.
            ack = await gateway.wait(gateway.send(lambda: self._command(message)))
        except FleetSimError as error:
            return ack_to_msg(CommandAck(message.command_id, message.source), self.bridge.time.last, str(error))
        return ack_to_msg(ack, self.bridge.time.last)

    def _command(self, message: FleetCommand) -> Command:
        """Return the command in `message`; raises FleetSimError if it is invalid as a whole."""
        common = {"command_id": message.command_id, "source": message.source}
        names = tuple(message.names)
        if message.kind in (FleetCommand.NAVIGATE, FleetCommand.SET_POSES):
            # Checked before frames are looked up: a wrong length is wrong in every frame.
            _check_length("poses", message.poses, names)
            positions, orientations = self._poses(message.header.frame_id, message.poses)
            if message.route and message.kind == FleetCommand.NAVIGATE:
                goals = map(Goal, positions.tolist(), orientations.tolist())
                return ExecuteAction(names=names, actions=tuple(MoveTo(goal, route=True) for goal in goals), **common)
            kind = Navigate if message.kind == FleetCommand.NAVIGATE else SetPoses
            return kind(names=names, positions=positions, orientations=orientations, **common)
        if message.kind == FleetCommand.VELOCITY:
            _check_length("twists", message.twists, names)
            linear, angular = twists_from_msgs(message.twists)
            if math.isnan(message.timeout):
                # A comparison with NaN is false, so a NaN would silently become the default.
                raise InvalidValueError("timeout: expected seconds, 0 for ever, negative: the default; got nan")
            timeout = message.timeout if message.timeout >= 0.0 else self.bridge.params.cmd_vel_timeout
            return SetVelocity(names=names, linear=linear, angular=angular, timeout=timeout, **common)
        if message.kind == FleetCommand.STOP:
            return Stop(names=names, **common)
        if message.kind == FleetCommand.CANCEL:
            # Without a reason of its own; that of the command's default says who cancelled.
            return CancelActions(names=names, **common)
        allowed = ", ".join(f"{name} ({getattr(FleetCommand, name)})" for name in KINDS)
        raise InvalidValueError(f"kind: expected one of {allowed}, got {message.kind}")

    def _poses(self, frame: str, poses: list[Pose]) -> Any:
        return self.bridge.transforms.to_map(frame, *poses_from_msgs(poses))


def _check_length(what: str, values: list[Pose] | list[Twist], names: tuple[str, ...]) -> None:
    if len(values) != len(names):
        raise InvalidValueError(f"{what}: expected one for each of the {len(names)} names, got {len(values)}")
