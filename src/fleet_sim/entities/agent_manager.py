"""AgentManager: a group of agents, their goals and callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from fleet_sim.core.callbacks import CallbackList
from fleet_sim.core.joints import DEFAULT_FORCE
from fleet_sim.entities import drive
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.end_effector import move_end_effectors
from fleet_sim.entities.grid import GridSpawnParams
from fleet_sim.entities.joint_values import JointNumbers
from fleet_sim.entities.manager import BaseManager
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import AgentSpawnParams
from fleet_sim.errors import InvalidValueError, unknown_name
from fleet_sim.geometry import Pose
from fleet_sim.geometry.pose import pose_arrays

Self = TypeVar("Self", bound="AgentManager")


class AgentManager(BaseManager[Agent]):
    """A fleet. Agents are updated by the simulation's step; the manager commands goals and answers queries."""

    default_class: ClassVar[type[SimObject]] = Agent

    def __init__(
        self,
        sim_core: Any = None,
        object_class: type[Agent] | None = None,
        name: str | None = None,
        update_frequency: float = 10.0,
    ) -> None:
        """`update_frequency` in Hz of simulated time is the rate of callbacks registered without one of their own."""
        self.update_frequency = update_frequency
        self._callbacks: CallbackList | None = None
        super().__init__(sim_core, object_class, name)

    @property
    def agents(self) -> list[Agent]:
        """The living agents, in order of spawning."""
        return self.objects

    # ---- goals -------------------------------------------------------------------------------------------------------

    def set_goal_pose(self, agent_index: int, goal: Pose) -> None:
        """Send the agent at `agent_index` to `goal`."""
        self[agent_index].set_goal_pose(goal)

    def set_goal_pose_by_object_id(self, object_id: int, goal: Pose) -> None:
        """Send the agent with `object_id` to `goal`; raises UnknownNameError."""
        self._one("object id", object_id, lambda agent: agent.object_id).set_goal_pose(goal)

    def set_goal_pose_by_body_id(self, body_id: int, goal: Pose) -> None:
        """Send the agent with the PyBullet body `body_id` to `goal`; raises UnknownNameError."""
        # Not the handle's `body_id`, after which PyBullet would keep up with every agent that was asked.
        self._one("body id", body_id, lambda agent: agent.world.bodies.body_id(agent.row)).set_goal_pose(goal)

    def set_goal_pose_all(self, factory: Callable[[Agent], Pose | None]) -> None:
        """Send every agent to `factory(agent)`, in one write; None does not change the agent."""
        # Asked once per agent and before anything is written: the factory may look at where others are.
        chosen = [(agent, goal) for agent in self.agents if (goal := factory(agent)) is not None]
        if not chosen:
            return
        for agent, _ in chosen:
            # All are checked before the first one is commanded.
            agent.require_mobile()
        world = self.world
        rows, lengths = np.array([agent.row for agent, _ in chosen]), np.ones(len(chosen), np.int64)
        positions, orientations = pose_arrays([goal for _, goal in chosen])
        for row, (_, body) in drive.goals_inside(world, rows, lengths, positions, orientations).items():
            raise InvalidValueError(f"agent {world.label(row)!r}: {drive.inside_text(world, 0, body)}")
        for row in world.actions.busy(rows).tolist():
            # Only of the busy ones: asking thousands of idle robots would take longer than the write.
            world.actions.cancel_base(row, "a new goal was set")
        drive.start_paths(world, rows, lengths, positions, orientations)

    def set_joints_targets_all(
        self, targets_factory: Callable[[Agent], JointNumbers | None], max_force: float = DEFAULT_FORCE
    ) -> None:
        """Command the joints of every agent to `targets_factory(agent)`, a list or a mapping; None: no change."""
        for agent in self.agents:
            targets = targets_factory(agent)
            if targets is not None:
                agent.set_joints_targets(targets, max_force)

    def move_end_effectors(
        self,
        target_positions: Any,
        target_orientations: Any = None,
        agents: Sequence[Agent] | None = None,
        end_effector_link: int | str | None = None,
        max_force: float = DEFAULT_FORCE,
        tolerance: float | None = None,
    ) -> list[bool]:
        """Send the end effectors of `agents` (None: all) to positions (N, 3), orientations (N, 4); return which can.

        As `Agent.move_end_effector`, with robots of one model solved in one call.
        """
        chosen = self.agents if agents is None else list(agents)
        return move_end_effectors(
            chosen, target_positions, target_orientations, end_effector_link, max_force, tolerance
        )

    def stop_all(self) -> None:
        """Stop every agent at once and cancel its actions."""
        for agent in self.agents:
            agent.stop()

    def add_action_all(self, factory: Callable[[Agent], Any]) -> None:
        """Append `factory(agent)` to every agent's queue."""
        for agent in self.agents:
            agent.add_action(factory(agent))

    def add_action_sequence_all(self, factory: Callable[[Agent], Iterable[Any]]) -> None:
        """Append all of `factory(agent)` to every agent's queue."""
        for agent in self.agents:
            agent.add_action_sequence(factory(agent))

    def get_moving_count(self) -> int:
        """Return how many agents have a goal they have not reached, or a velocity."""
        return int(drive.moving_mask(self.world, self.rows).sum()) if len(self) else 0

    def get_moving_agents(self) -> list[Agent]:
        """Return the agents that are moving."""
        return [agent for agent in self.agents if agent.is_moving]

    def get_stopped_agents(self) -> list[Agent]:
        """Return the agents that are not moving."""
        return [agent for agent in self.agents if not agent.is_moving]

    def _one(self, kind: str, wanted: int, key: Callable[[Agent], int]) -> Agent:
        for agent in self.agents:
            if key(agent) == wanted:
                return agent
        raise unknown_name(kind, wanted, ())

    # ---- callbacks ---------------------------------------------------------------------------------------------------

    def register_callback(
        self: Self, callback: Callable[[Self, float], object], frequency: float | None = None
    ) -> None:
        """Call `callback(manager, dt)` in phase 1 at `frequency` Hz (default: the manager's update_frequency)."""
        if self._callbacks is None:
            # Made at the first use: most managers have no callbacks.
            self._callbacks = CallbackList(self.world.clock, self.world.guard)
        self._callbacks.add(callback, self.update_frequency if frequency is None else frequency, "manager callback")

    def unregister_callback(self, callback: Callable[..., object]) -> bool:
        """Stop calling `callback`; returns whether it was registered."""
        return self._callbacks is not None and self._callbacks.remove(callback)

    @property
    def has_callbacks(self) -> bool:
        """Whether any callback is registered."""
        return bool(self._callbacks)

    def run_callbacks(self) -> None:
        """Call the callbacks that are due; the simulation does this in each step."""
        if self._callbacks is not None:
            self._callbacks.run(self)

    # ---- aliases -----------------------------------------------------------------------------------------------------

    def spawn_agents_grid(
        self,
        num_agents: int,
        grid_params: GridSpawnParams,
        spawn_params: AgentSpawnParams,
        name_prefix: str | None = None,
    ) -> list[Agent]:
        """Same as `spawn_objects_grid`."""
        return self.spawn_objects_grid(num_agents, grid_params, spawn_params, name_prefix)

    def spawn_agents_grid_mixed(
        self, num_agents: int, grid_params: GridSpawnParams, spawn_params_list: Sequence[tuple[AgentSpawnParams, float]]
    ) -> list[Agent]:
        """Same as `spawn_grid_mixed`."""
        return self.spawn_grid_mixed(num_agents, grid_params, spawn_params_list)

    def spawn_agent_grid_counts(
        self, grid_params: GridSpawnParams, spawn_params_count_list: Sequence[tuple[AgentSpawnParams, int]]
    ) -> list[Agent]:
        """Same as `spawn_grid_counts`."""
        return self.spawn_grid_counts(grid_params, spawn_params_count_list)
