"""What became of a run: how fast it was, what collided, which actions failed and who did not arrive."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fleet_sim.actions.base import FINAL
from fleet_sim.collision.passages import WallPassages
from fleet_sim.config.modes import ActionCause, ActionStatus
from fleet_sim.kernels.compiled import compile_seconds
from fleet_sim.simulation import MultiRobotSimulationCore

MOST_NAMED = 5
"""Robots that are named in one list; of more, only the number is given."""
MOST_KEPT = 1000
"""Failures that are listed in files."""


class RunSummary:
    """Watches the actions of `sim` from now on and describes the run at its end; with `goals` it counts those too."""

    def __init__(self, sim: MultiRobotSimulationCore, *, goals: bool = False) -> None:
        self._sim = sim
        self._goals = 0 if goals else None
        if goals:
            # A goal is the end of a path, or the place that traffic sent a robot to.
            for event in ("arrived", "traffic_arrived"):
                sim.events.on(event, lambda **_: self._arrived())
        self._begin = sim.sim_time, sim.step_count
        """Where the run begins: a saved state is gone on with later than at 0."""
        self._compiled = compile_seconds()
        self._ended: Counter[ActionStatus] = Counter()
        self._failures: list[dict[str, str]] = []
        self._given_up = 0
        sim.events.on("action_completed", self._note)
        sim.events.on("goal_failed", self._note_goal)
        self._passages = WallPassages(sim.world)
        if sim.collisions.ignore_static:
            sim.events.on("post_step", lambda dt, sim_time: self._look(sim_time))

    def _look(self, sim_time: float) -> None:
        # Without checks no boxes are kept up to date, and nobody wants to know of collisions.
        if self._sim.collisions.has_checks():
            self._passages.look(sim_time)

    def _arrived(self) -> None:
        self._goals = (self._goals or 0) + 1

    def _note(self, agent: Any, action: Any, status: ActionStatus) -> None:
        self._ended[status] += 1
        if status is ActionStatus.FAILED:
            reason, cause = action.error_message or "no reason given", str(action.cause or ActionCause.FAILED)
            self._keep(agent, type(action).__name__, cause, reason, action.blocked_by or "")

    def _note_goal(self, agent: Any, cause: ActionCause, message: str) -> None:
        self._given_up += 1
        obstacle = agent.blocked_by
        self._keep(agent, "goal", str(cause), message, agent.world.label(obstacle.row) if obstacle else "")

    def _keep(self, agent: Any, what: str, cause: str, reason: str, blocked_by: str) -> None:
        if len(self._failures) < MOST_KEPT:
            named = {"robot": agent.name or "", "action": what, "cause": cause, "reason": reason}
            self._failures.append({**named, "blocked_by": blocked_by})

    def lines(self, seconds: float) -> list[str]:
        """Return what happened, in lines; the run took `seconds` of real time."""
        return [self._speed(seconds), self._collisions(), *self._orders(), *self._actions()]

    def figures(self, seconds: float) -> dict[str, str]:
        """Return the same as a line of a table: texts by their headings."""
        sim = self._sim
        return {
            "simulated": f"{sim.sim_time - self._begin[0]:.2f} s",
            "took": f"{seconds:.2f} s",
            **({"goals": str(self._goals)} if self._goals is not None else {}),
            "collisions": str(sim.collisions.count),
            **{status.value: str(self._ended[status]) for status in FINAL},
            "busy": str(len(self._busy())),
        }

    def numbers(self, seconds: float) -> dict[str, Any]:
        """Return the same as numbers, for files."""
        sim, simulated = self._sim, self._sim.sim_time - self._begin[0]
        return {
            "simulated_s": simulated,
            "steps": sim.step_count - self._begin[1],
            "wall_s": seconds,
            # A run of no time has no factor.
            "real_time_factor": simulated / seconds if seconds > 0.0 else None,
            "collisions": sim.collisions.count,
            "static_collisions": sim.collisions.static_count,
            "static_collisions_ignored": sim.collisions.ignore_static,
            "robots_through_walls": len(self._passages.names),
            **{f"actions_{status.value}": self._ended[status] for status in FINAL},
            "goals_failed": self._given_up,
            "busy": len(self._busy()),
            "failures": list(self._failures),
        }

    def _speed(self, seconds: float) -> str:
        sim, (begin, first) = self._sim, self._begin
        simulated = sim.sim_time - begin
        compiling = compile_seconds() - self._compiled
        stepping = seconds - compiling
        factor = f"{simulated / stepping:.1f} times real time" if stepping > 0 else "at once"
        if compiling:
            factor += f", without {compiling:.1f} s of compiling, once on this machine"
        steps = counted(sim.step_count - first, "step")
        return (
            f"{counted(len(sim.agents), 'robot')}, {steps}, {simulated:.2f} s simulated in {seconds:.2f} s ({factor})"
        )

    def _collisions(self) -> str:
        """Return how many collisions there were, and what is not counted among them."""
        found = self._sim.collisions
        text = counted(found.count, "collision")
        # Without walls there is nothing to say about them.
        if not self._sim.world.collision_rules.static_mask()[self._sim.world.rows].any():
            return text
        if found.ignore_static:
            text += "; those with walls and other static bodies are not counted (ignore_static_collision)"
            names = self._passages.names
            if names:
                text += f"\ndrove through static bodies: {listed(names)}"
                text += "; with block_on_collision robots stop in front of them"
            return text
        return f"{text}, {found.static_count} of them with walls and other static bodies"

    def _orders(self) -> list[str]:
        """Return the lines about orders; none where the scenario has no orders."""
        orders = self._sim.extensions.find_manager("orders")
        if orders is None:
            return []
        told = orders.figures()
        counts, rate, flow = told["orders"], told["throughput_per_hour"]["mean"], told["flow_time_s"]["p50"]
        parts = ", ".join(f"{number} {name}" for name, number in counts.items() if number and name != "submitted")
        lines = [f"{counted(counts['submitted'], 'order')}: {parts}" if parts else "no orders"]
        if flow is not None:
            late = f", {told['lateness_s']['late']} late" if told["lateness_s"]["with_due"] else ""
            lines.append(f"  {rate:.0f} done per hour, half of them within {flow:.0f} s{late}")
        return lines

    def _actions(self) -> list[str]:
        """Return how actions ended, why the first ones failed, and which robots are still busy."""
        lines = []
        if self._ended:
            lines.append("actions: " + ", ".join(f"{number} {status.value}" for status, number in self._by_status()))
        if self._given_up:
            lines.append(f"goals that robots gave up: {self._given_up}")
        named = self._failures[:MOST_NAMED]
        lines += [f"  {one['robot']}: {one['action']} failed: {one['reason']}" for one in named]
        hidden = self._ended[ActionStatus.FAILED] + self._given_up - len(named)
        if hidden:
            lines.append(f"  and {hidden} more failed")
        busy = self._busy()
        if busy:
            lines.append(f"still busy at the end: {listed(busy)}")
        idle = [agent for agent in self._sim.agents if agent.blocked_by and agent.is_action_queue_empty()]
        if idle:
            lines.append(f"blocked at the end: {listed([(agent.name or '') + _obstacle(agent) for agent in idle])}")
        return lines

    def _busy(self) -> list[str]:
        """Return the names of robots with actions, with what keeps each from going on."""
        agents = [agent for agent in self._sim.agents if not agent.is_action_queue_empty()]
        return [(agent.name or "") + _obstacle(agent) for agent in agents]

    def _by_status(self) -> list[tuple[ActionStatus, int]]:
        return [(status, self._ended[status]) for status in ActionStatus if self._ended[status]]


def _obstacle(agent: Any) -> str:
    """Return what keeps a robot from going on, in brackets, or "" where nothing does."""
    action = agent.get_current_action()
    what = action.blocked_by if action is not None else agent.blocked_by and agent.world.label(agent.blocked_by.row)
    return f" (blocked by {what})" if what else ""


def counted(number: int, thing: str) -> str:
    """Return `number` and the name of the thing, as in "1 robot" and "2 robots"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def listed(names: list[str]) -> str:
    """Return `names`, or their number and the first of them if they are many."""
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{counted(len(names), 'robot')} ({', '.join(names[:MOST_NAMED])}, ...)"
