"""Transport: how robots get to places, by routes of their own or in the traffic, behind one small protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from fleet_sim.actions.move_to import MoveTo
from fleet_sim.config.modes import ActionStatus
from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.geometry import Pose
from fleet_sim.orders.places import Spot
from fleet_sim.saved_classes import saved
from fleet_sim.traffic.traffic import Traffic


@saved
class DriveEnd(NamedTuple):
    """A drive has ended: at its place (`reason` is empty), or elsewhere for a reason."""

    row: int
    reason: str = ""


class Transport(Protocol):
    """Sends robots to places. Each drive has one outcome, unless the robot is stopped, sent elsewhere or removed."""

    def send(self, row: int, point: Spot) -> None:
        """Let a robot drive to `point` in m; what it drove to before is forgotten."""

    def stop(self, row: int) -> None:
        """Let a robot that was sent somewhere stop where it is; it may give way to others there."""

    def hold(self, row: int) -> None:
        """Let a robot that has arrived stay there until it is sent elsewhere or stopped."""

    def forget(self, row: int) -> None:
        """Forget a robot that is about to be removed."""

    def take_outcomes(self) -> list[DriveEnd]:
        """Return the drives that have ended since the last call, in the order they ended."""

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""

    def close(self) -> None:
        """Stop listening to the simulation."""


class RouteTransport:
    """Every robot by itself, along its route around the walls. Robots do not look out for each other."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._drives: dict[int, MoveTo] = {}
        self._outcomes: list[DriveEnd] = []
        world.events.on("action_completed", self._ended)

    def send(self, row: int, point: Spot) -> None:
        """Let a robot drive to `point` in m; what it drove to before is forgotten."""
        self.stop(row)
        # A place is for being there: turning to some heading would only take time.
        storeys = len(point) == 3
        height = point[2] if storeys else float(self._world.position[row, 2])
        action = MoveTo(Pose((*point[:2], height)), 0.0, False, route=True, keep_height=storeys)
        self._drives[row] = action
        self._world.actions.add(row, action)

    def stop(self, row: int) -> None:
        """Let a robot that was sent somewhere stop where it is."""
        action = self._drives.pop(row, None)
        if action is not None:
            action.cancel("its order changed")

    def hold(self, row: int) -> None:
        """Let a robot that has arrived stay there: nobody asks it to give way."""

    def forget(self, row: int) -> None:
        """Forget a robot that is about to be removed."""
        self._drives.pop(row, None)
        self._outcomes = [outcome for outcome in self._outcomes if outcome.row != row]

    def take_outcomes(self) -> list[DriveEnd]:
        """Return the drives that have ended since the last call, in the order they ended."""
        taken, self._outcomes = self._outcomes, []
        return taken

    def _ended(self, agent: Agent, action: object, status: ActionStatus) -> None:
        drive = self._drives.get(agent.row)
        if drive is None or drive is not action:
            return
        del self._drives[agent.row]
        arrived = status is ActionStatus.COMPLETED
        reason = "" if arrived else drive.error_message or "the drive ended"
        self._outcomes.append(DriveEnd(agent.row, reason))

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        # The scheduler restores the same action objects, so that they are still those of the robots.
        return dict(self._drives), list(self._outcomes)

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        drives, outcomes = saved
        self._drives, self._outcomes = dict(drives), list(outcomes)

    def close(self) -> None:
        """Stop listening to the simulation."""
        self._world.events.off("action_completed", self._ended)


class FleetTransport:
    """Robots that take part in the traffic drive by its plans, all others by routes of their own.

    `traffic` returns the traffic, None as long as there is none: a scenario may name its sections in any order.
    """

    def __init__(self, world: World, traffic: Callable[[], Traffic | None]) -> None:
        self._world = world
        self._traffic = traffic
        self._routes = RouteTransport(world)
        self._sent: dict[int, int] = {}
        self._outcomes: list[DriveEnd] = []
        world.events.on("traffic_arrived", self._arrived)
        world.events.on("traffic_left", self._left)

    def send(self, row: int, point: Spot) -> None:
        """Let a robot drive to `point` in m; raises InvalidValueError where the traffic does not lead there."""
        traffic, agent = self._taking_part(row)
        if traffic is None:
            self._sent.pop(row, None)
            self._routes.send(row, point)
            return
        # It may have driven by a route of its own before it took part.
        self._routes.stop(row)
        # Forgotten before it is sent: where that raises, it drives nowhere.
        self._sent.pop(row, None)
        x, y = point[:2]
        traffic.send(agent, (x, y))
        self._sent[row] = traffic.node_of((x, y))

    def stop(self, row: int) -> None:
        """Let a robot that was sent somewhere stop where it is; in the traffic it gives way to others."""
        self._routes.stop(row)
        self._sent.pop(row, None)
        traffic, agent = self._taking_part(row)
        if traffic is not None:
            # `hold` has made it stand there: from now on it gives way again.
            traffic.resume(agent)
            traffic.withdraw_goal(agent)

    def hold(self, row: int) -> None:
        """Let a robot that has arrived stay there until it is sent elsewhere or stopped."""
        traffic, agent = self._taking_part(row)
        if traffic is not None:
            traffic.stop(agent)

    def forget(self, row: int) -> None:
        """Forget a robot that is about to be removed."""
        self._routes.forget(row)
        self._sent.pop(row, None)
        self._outcomes = [outcome for outcome in self._outcomes if outcome.row != row]

    def take_outcomes(self) -> list[DriveEnd]:
        """Return the drives that have ended since the last call, in the order they ended."""
        taken, self._outcomes = self._outcomes, []
        return taken + self._routes.take_outcomes()

    def _taking_part(self, row: int) -> tuple[Traffic | None, Agent]:
        traffic, agent = self._traffic(), self._world.handles[row]
        return (traffic if traffic is not None and traffic.takes_part(agent) else None), agent

    def _arrived(self, agent: Agent, node: int) -> None:
        # It may have arrived where it was to go before this goal.
        if self._sent.get(agent.row) == node:
            del self._sent[agent.row]
            self._outcomes.append(DriveEnd(agent.row))

    def _left(self, agent: Agent, reason: str) -> None:
        if self._sent.pop(agent.row, None) is not None:
            self._outcomes.append(DriveEnd(agent.row, f"it left the traffic: {reason}"))

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        return dict(self._sent), list(self._outcomes), self._routes.save()

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        sent, outcomes, routes = saved
        self._sent, self._outcomes = dict(sent), list(outcomes)
        self._routes.restore(routes)

    def close(self) -> None:
        """Stop listening to the simulation."""
        self._routes.close()
        self._world.events.off("traffic_arrived", self._arrived)
        self._world.events.off("traffic_left", self._left)
