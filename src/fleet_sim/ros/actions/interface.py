"""The actions of each robot, /<robot>/move_to, and of the fleet, /fleet/move_to with the robot named in the goal."""

from __future__ import annotations

import traceback
from functools import partial
from threading import Event
from typing import Any

from fleet_sim.actions.base import Action
from fleet_sim.arrays import Rows
from fleet_sim.errors import FleetSimError, StateError
from fleet_sim.ros.actions.goals import Goals
from fleet_sim.ros.actions.kind import ActionKind, ArrivalReader
from fleet_sim.ros.actions.kinds import KINDS
from fleet_sim.ros.actions.leases import ClientLeases
from fleet_sim.ros.actions.server import SimulatedActionServer
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.per_robot import Endpoints
from fleet_sim.ros.roster import Roster


class ActionInterface(Interface):
    """Serves all actions.

    An invalid goal, or one for an unknown robot, is rejected with a log line; any other failure ends the goal with a
    cause in its result.
    """

    rate = "feedback"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._goals = Goals(bridge)
        self._known: frozenset[str] = frozenset()
        bridge.sim.world.on_remove.append(self._forget)
        self._spinning = False
        # Only the goal checked last: rclpy accepts it right after the check, in the same turn of the executor.
        self._read: tuple[Any, Action | None] = (None, None)
        self._kinds = [kind for kind in KINDS.all().values() if kind.asked_for(bridge.params)]
        for kind in (kind for kind in self._kinds if kind.per_fleet):
            self._serve(kind, f"fleet/{kind.name}", "")
        self._endpoints = Endpoints(bridge, "actions", self._serve_robot, self._destroy)

    @property
    def server_count(self) -> int:
        """The number of action servers."""
        return sum(kind.per_fleet for kind in self._kinds) + sum(map(len, self._endpoints.items))

    def on_fleet_changed(self, roster: Roster) -> None:
        """Serve the actions of new robots, and end those of robots that are gone, in the executor's thread."""
        self._known = roster.known
        follow = partial(self._endpoints.on_fleet_changed, roster)
        if self._spinning:
            # Servers belong to the executor's thread. A task runs after the results of goals that just ended.
            self.bridge.mailbox.post(lambda: self.bridge.node.executor.create_task(follow))
        else:
            follow()

    def _forget(self, rows: Rows) -> None:
        """Reject goals for robots as soon as they are removed, not only from the end of that step."""
        label = self.bridge.sim.world.label
        self._known = self._known.difference(label(row) for row in rows.tolist())

    def watch_clients(self, timeout: float) -> ClientLeases:
        """Return what looks after goals whose client is gone; they end after `timeout` s, or never if it is 0."""
        return ClientLeases(self.bridge, self._goals, timeout)

    def end_all(self, ended: Event) -> None:
        """End every goal, in the executor's thread; `ended` is set when all results are out."""
        self._goals.end_all(ended)

    def receive(self) -> None:
        # The first step: from now on the servers belong to the executor.
        self._spinning = True

    def publish(self, now: int) -> None:
        """Publish feedback of all running goals at `ros.rates.feedback`."""
        self._goals.publish_feedback(now)

    def end_step(self) -> None:
        """End goals whose actions were cancelled before they began."""
        self._goals.end_unannounced()

    def on_reset(self) -> None:
        """End goals whose actions a reset or a restored state has ended."""
        self._goals.end_unannounced()

    def _serve_robot(self, robot: str) -> list[SimulatedActionServer]:
        return [
            self._serve(kind, f"{robot}/{kind.topic(self.bridge.params)}", robot)
            # Asked per robot: what has no joints gets no server for joints.
            for kind in self._kinds
            if kind.serves(self.bridge.sim.world, robot)
        ]

    def _destroy(self, servers: list[SimulatedActionServer]) -> None:
        for server in servers:
            server.destroy()

    def _serve(self, kind: ActionKind, name: str, robot: str) -> SimulatedActionServer:
        """Return a server for `robot`, or, if it is "", for the robots named in the goals."""
        return SimulatedActionServer(
            self.bridge.node,
            kind,
            name,
            wants=lambda goal: self._wants(kind, name, robot or goal.robot, goal),
            accepted=lambda server, handle: self._accept(robot or handle.request.robot, server, handle),
            cancel=self._goals.cancel,
            group=self.bridge.group,
        )

    def _wants(self, kind: ActionKind, name: str, robot: str, goal: Any) -> bool:
        """Return whether a goal is valid as far as its arrival tells; one that is not is rejected with the reason."""
        reader = ArrivalReader(self.bridge)
        try:
            self.bridge.gateway.permissions.check_change()
            if kind.navigation and robot in self.bridge.resting:
                raise StateError("navigation is not active; start it up by its lifecycle manager")
            action = kind.build(goal, reader)
        except FleetSimError as error:
            self.bridge.reject(f"goal of {name}", error)
            return False
        except Exception:
            # Whatever it is, it must not end the executor, and all services and actions with it.
            self.bridge.refusals.tell(f"goal of {name}: fault\n{traceback.format_exc()}")
            return False
        # After the goal itself: what is wrong with it is of more use than who it was for.
        if robot not in self._known:
            self.bridge.reject(f"goal of {name}", f"unknown robot {robot!r}")
            return False
        self._read = (goal, action if reader.is_final else None)
        return True

    def _accept(self, robot: str, server: SimulatedActionServer, handle: Any) -> None:
        # By identity: another goal may have been checked in between.
        """Start a goal that was just checked, with the action that was built for the check."""
        goal, action = self._read
        self._goals.accept(robot, server, handle, action if goal is handle.request else None)
