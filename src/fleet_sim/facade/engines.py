"""The engine of a simulation: which one it is, and what is refused where the other one has it."""

from __future__ import annotations

import logging
import math
from importlib.util import find_spec

from fleet_sim.arrays import Floats, Rows
from fleet_sim.bullet.engine import BulletEngine
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.query import BulletQueries
from fleet_sim.config.params import SimulationParams
from fleet_sim.core.collision_rules import LinkPairs
from fleet_sim.core.contacts import Contact
from fleet_sim.core.physics_engine import PhysicsEngine
from fleet_sim.core.world import World
from fleet_sim.mujoco.engine import MujocoEngine
from fleet_sim.mujoco.spec import SpecOptions

log = logging.getLogger(__name__)

REFUSED = (
    "this simulation runs on MuJoCo, and PyBullet's own functions and bodies act on PyBullet only; set engine: bullet"
)
"""Why users of a simulation on MuJoCo get no PyBullet."""


def engine_name(params: SimulationParams) -> str:
    """Return the name of the engine that `params` choose: `auto` is PyBullet if it is installed, otherwise MuJoCo."""
    if params.engine != "auto":
        return params.engine
    # Without physics, and with a window, there is nothing that MuJoCo could do.
    if not params.physics or params.gui or find_spec("pybullet") is not None:
        return "bullet"
    if find_spec("mujoco") is None:
        # Named in the error of its first use, as the engine that is asked for where none is there.
        return "bullet"
    log.info("engine: mujoco, as PyBullet is not installed")
    return "mujoco"


def make_engine(
    params: SimulationParams, world: World, mirror: BulletMirror, queries: BulletQueries, exempt_links: LinkPairs
) -> PhysicsEngine:
    """Return the engine that `params` choose for a world; `mirror` is PyBullet's view of it.

    `exempt_links` returns the pairs of links of a row that do not push each other.
    """
    if engine_name(params) == "bullet":
        engine = BulletEngine(mirror, queries, substep=params.physics_substep)
        mirror.keeps_previous = mirror.forces.enabled = params.physics
        if params.physics:
            # What a motor of the user's own can do follows from the step that the engine has when it is commanded.
            count = max(1, math.ceil(params.timestep / params.physics_substep - 1e-9))
            mirror.client.timestep = params.timestep / count
        return engine
    mirror.refused = REFUSED
    options = SpecOptions(params.enable_floor, params.inertia_from_file, params.solver_iterations)
    return MujocoEngine(world, options, exempt_links, substep=params.physics_substep, contact_erp=params.contact_erp)


class EngineBook:
    """The BodyBook of a simulation: what handles of entities ask of its engine, and of PyBullet's shapes."""

    def __init__(self, engine: PhysicsEngine, queries: BulletQueries) -> None:
        self._engine = engine
        self._queries = queries
        self.body_id = engine.body_id
        self.tell_body = engine.tell_body
        self.row_of_body = engine.row_of_body
        self.other_body = engine.other_body
        self.push = engine.push
        self.twist = engine.twist

    def local_bounds(self, shape_id: int) -> tuple[Floats, Floats]:
        """Return centre (3,) and half extents (3,) of a shape in its body frame."""
        return self._queries.local_bounds(shape_id)

    def pose_written(self, rows: Rows) -> None:
        """Handle poses of `rows` that were written outside a step."""
        self._engine.pose_written(rows)

    def contacts(self, row: int) -> list[Contact]:
        """Return the contacts of the entity in the last step of physics."""
        return self._engine.contacts(row)
