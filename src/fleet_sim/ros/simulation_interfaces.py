"""The services of simulation_interfaces, as in other simulators; served if that package is installed.

Only supported features are advertised. A reset restores the initial state and removes entities spawned since, but
published time does not go back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Accel, Twist, Vector3
from simulation_interfaces.msg import EntityState, Result, SimulatorFeatures
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityBounds,
    GetEntityInfo,
    GetEntityState,
    GetSimulatorFeatures,
    SetEntityInfo,
    SetEntityState,
)

from fleet_sim.base.arrays import Floats, Ints, Rows
from fleet_sim.base.errors import FleetSimError, StateError, UnknownNameError
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.messages import Roster, pose_from_msg, poses_to_msgs, time_to_msg, twists_to_msgs
from fleet_sim.ros.simulation_answers import EntityInfos, Refusal, bounds_of, is_static, matching, serve, unsupported
from fleet_sim.ros.simulation_runs import FORMATS, RunServicesOfStandard, SpawnServices, WorldServices
from fleet_sim.world import commands as c
from fleet_sim.world.world import World

# Accelerations of entities, from the velocities of the last two steps; computed only once somebody asks.


UNKNOWN = "accelerations are 0: they are known from the second step after the first request on"


class Accelerations:
    """Keeps the velocities of the last two steps from the first request on."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._wanted = False
        # Generations tell whether a row is still the same entity.
        self._before: tuple[Ints, Floats, Floats] | None = None
        self._now: tuple[Ints, Floats, Floats] | None = None

    def note(self) -> None:
        """Keep the velocities at the end of a step."""
        if self._wanted:
            world = self._world
            copies = (world.generation.copy(), world.velocity.copy(), world.angular_velocity.copy())
            self._before, self._now = self._now, copies

    def forget(self) -> None:
        """Begin anew, as after a reset: what came before is no earlier state of what is now."""
        self._before = self._now = None

    def of(self, rows: Rows) -> tuple[Floats, Floats] | None:
        """Return linear and angular accelerations (N, 3) in the world frame, None while they are not known.

        They are those of the last step; 0 for entities that were spawned in it.
        """
        self._wanted = True
        if self._before is None or self._now is None:
            return None
        generations, linear, angular = self._before
        end_generations, end_linear, end_angular = self._now
        known_mask = rows < len(generations)
        known_mask[known_mask] = generations[rows[known_mask]] == end_generations[rows[known_mask]]
        found = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
        chosen = rows[known_mask]
        for values, end, begin in ((found[0], end_linear, linear), (found[1], end_angular, angular)):
            values[known_mask] = (end[chosen] - begin[chosen]) / self._world.clock.dt
        return found


# Entities by simulation_interfaces: who there is, where, how large, what is known about them.


class EntityServices:
    """Lists, measures, places and deletes entities. What they answer is as of one moment between two steps.

    Below sim/: delete_entity, get_entities, get_entities_states, get_entity_state, set_entity_state, get_entity_info,
    set_entity_info and get_entity_bounds. Changes are commands; they take effect between two steps.
    """

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._sim = bridge.sim
        self.infos = EntityInfos(bridge.sim.world)
        self.accelerations = Accelerations(bridge.sim.world)
        for kind, name, work in (
            (DeleteEntity, "delete_entity", self._delete),
            (GetEntities, "get_entities", self._entities),
            (GetEntitiesStates, "get_entities_states", self._states),
            (GetEntityState, "get_entity_state", self._state),
            (SetEntityState, "set_entity_state", self._set_state),
            (GetEntityInfo, "get_entity_info", self._info),
            (SetEntityInfo, "set_entity_info", self._set_info),
            (GetEntityBounds, "get_entity_bounds", self._bounds),
        ):
            serve(bridge, kind, name, work)

    # ---- the services ------------------------------------------------------------------------------------------------

    async def _delete(self, request: Any, response: Any) -> None:
        ack = await self._bridge.carry_out(lambda: c.Remove(names=(request.entity,), source="delete_entity"))
        if not ack.ok:
            raise UnknownNameError(f"unknown entity {request.entity!r}")

    async def _entities(self, request: Any, response: Any) -> None:
        response.entities = await self._bridge.read(lambda: matching(self._sim, self.infos, request.filters))

    async def _states(self, request: Any, response: Any) -> str:
        def read() -> tuple[list[str], list[EntityState], str]:
            names = matching(self._sim, self.infos, request.filters)
            return names, *self._states_of(names)

        response.entities, response.states, note = await self._bridge.read(read)
        return note

    async def _state(self, request: Any, response: Any) -> str:
        states, note = await self._bridge.read(lambda: self._states_of([request.entity]))
        response.state = states[0]
        return note

    async def _info(self, request: Any, response: Any) -> None:
        response.info = await self._bridge.read(lambda: self.infos.of(self._row(request.entity)))

    async def _set_info(self, request: Any, response: Any) -> None:
        self._bridge.gateway.permissions.check_change()
        await self._bridge.read(lambda: self.infos.give(self._row(request.entity), request.info))

    async def _bounds(self, request: Any, response: Any) -> None:
        response.bounds = await self._bridge.read(lambda: bounds_of(self._sim.world, self._row(request.entity)))

    async def _set_state(self, request: Any, response: Any) -> None:
        ack = await self._bridge.carry_out(lambda: self._placing(request))
        for reason in ack.rejected.values():
            raise StateError(reason)

    # ---- between two steps -------------------------------------------------------------------------------------------

    def _placing(self, request: Any) -> c.Command:
        """Return the command that sets a state; raises Refusal and FleetSimError."""
        # An unknown name is reported first, whatever else is wrong with the request.
        row = self._row(request.entity)
        # Where messages have no flags, as in 1.x, a twist other than zero means that it is to be set.
        moving = getattr(request, "set_twist", True) and request.state.twist != Twist()
        moving |= getattr(request, "set_acceleration", True) and request.state.acceleration != Accel()
        if moving and is_static(self._sim.world, row):
            reason = f"{request.entity!r} is static: it has neither a twist nor an acceleration"
            raise Refusal(Result.RESULT_OPERATION_FAILED, reason)
        if moving:
            raise unsupported("twist and acceleration: robots are driven by cmd_vel; leave them zero")
        if not getattr(request, "set_pose", True):
            return c.SetPoses(names=(), positions=np.empty((0, 3)), orientations=np.empty((0, 4)))
        try:
            frame, pose = request.state.header.frame_id, pose_from_msg(request.state.pose)
            pose = self._bridge.transforms.pose_to_map(frame, pose)
        except FleetSimError as error:
            raise Refusal(SetEntityState.Response.INVALID_POSE, str(error)) from error
        return c.SetPoses(
            names=(request.entity,),
            positions=np.array([pose.position]),
            orientations=np.array([pose.orientation]),
            preserve_velocity=False,
            source="set_entity_state",
        )

    def _states_of(self, names: Sequence[str]) -> tuple[list[EntityState], str]:
        """Return the states of entities in the map frame, and what there is to say about them."""
        world = self._sim.world
        rows = np.array([self._row(name) for name in names], np.int64)
        poses = poses_to_msgs(world.position[rows], world.orientation[rows])
        twists = twists_to_msgs(world.velocity[rows], world.angular_velocity[rows])
        found = self.accelerations.of(rows)
        linear, angular = found or (np.zeros((len(rows), 3)), np.zeros((len(rows), 3)))
        stamp, states = time_to_msg(self._bridge.time.last), []
        for pose, twist, push, turn in zip(poses, twists, linear.tolist(), angular.tolist(), strict=True):
            state = EntityState(pose=pose, twist=twist)
            state.acceleration = Accel(linear=_vector(push), angular=_vector(turn))
            state.header.frame_id, state.header.stamp = self._bridge.frames.map, stamp
            states.append(state)
        return states, "" if found else UNKNOWN

    def _row(self, name: str) -> int:
        return int(self._sim.world.index.row_named(name))


def _vector(values: Sequence[float]) -> Vector3:
    return Vector3(x=values[0], y=values[1], z=values[2])


FEATURES = (
    "SPAWNING",
    "SPAWNING_ENTITIES",
    "SPAWNABLES",
    "DELETING",
    "NAMED_POSES",
    "POSE_BOUNDS",
    "ENTITY_TAGS",
    "ENTITY_BOUNDS",
    "ENTITY_BOUNDS_BOX",
    "ENTITY_CATEGORIES",
    "ENTITY_STATE_GETTING",
    "ENTITY_STATE_SETTING",
    "ENTITY_INFO_GETTING",
    "ENTITY_INFO_SETTING",
    "SIMULATION_RESET",
    "SIMULATION_RESET_SPAWNED",
    "SIMULATION_STATE_GETTING",
    "SIMULATION_STATE_SETTING",
    "SIMULATION_STATE_PAUSE",
    "STEP_SIMULATION_SINGLE",
    "STEP_SIMULATION_MULTIPLE",
    "STEP_SIMULATION_ACTION",
    "WORLD_LOADING",
    "WORLD_RESOURCE_STRING",
    "WORLD_UNLOADING",
    "WORLD_INFO_GETTING",
    "AVAILABLE_WORLDS",
)
"""What is supported, of those that the installed definitions know. Not: bounds that are hulls, entities from a text,
resets of the time or of the state alone, tags of worlds."""


class StandardServices(Interface):
    """Serves simulation_interfaces below sim/, with the result codes of its definitions."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._run = RunServicesOfStandard(bridge)
        self._entities = EntityServices(bridge)
        self._parts = (SpawnServices(bridge, self._run), WorldServices(bridge, self._run))
        serve(bridge, GetSimulatorFeatures, "get_simulator_features", self._features)

    def on_fleet_changed(self, roster: Roster) -> None:
        self._entities.infos.forget_gone()

    def end_step(self) -> None:
        """Note the velocities, from which accelerations are told."""
        self._entities.accelerations.note()

    def on_reset(self) -> None:
        """Forget velocities: a jump to another state is no acceleration."""
        self._entities.accelerations.forget()

    async def _features(self, request: Any, response: Any) -> None:
        known = (getattr(SimulatorFeatures, name, None) for name in FEATURES)
        response.features.features = [number for number in known if number is not None]
        response.features.spawn_formats = list(FORMATS)
        response.features.custom_info = "fleet_sim; docs/simulation_interfaces.md"
