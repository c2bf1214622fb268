"""The engine of a simulation: which one it is, and what is refused where the other one has it."""

from __future__ import annotations

import logging
import math
from functools import partial
from importlib.util import find_spec

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import SimulationParams
from fleet_sim.engines.bullet.engine import BulletEngine, BulletQueries
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.engines.mujoco.engine import MujocoEngine
from fleet_sim.engines.mujoco.spec import SpecOptions
from fleet_sim.facade.control import SimulationParts
from fleet_sim.facade.view import View
from fleet_sim.world.collision_rules import LinkPairs
from fleet_sim.world.look import LogLevelManager
from fleet_sim.world.ports import PhysicsEngine
from fleet_sim.world.world import World

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


# The settings that a simulation runs with: what happens when they are changed, and what to do where they cannot be.


_INSTEAD = {
    "block_on_collision": "set `block_on_collision` of what you spawn",
    "spatial_hash_cell_size_mode": "call sim.set_collision_spatial_hash_cell_size_mode(mode, cell_size)",
    "spatial_hash_cell_size": "call sim.set_collision_spatial_hash_cell_size_mode('constant', cell_size)",
    "monitor": "call sim.setup_monitor(output) or sim.close_monitor()",
    "enable_monitor_gui": "call sim.setup_monitor(output) or sim.close_monitor()",
}
"""What to do instead of setting these."""


def used(params: SimulationParams | None) -> SimulationParams:
    """Return a copy of `params` (None: the defaults, no window) that belongs to one simulation, and log at its level.

    Raises InvalidValueError for anything else, and ConfigError where settings contradict each other.
    """
    if params is not None and not isinstance(params, SimulationParams):
        raise InvalidValueError(f"expected SimulationParams, got {params!r}; see from_dict() and from_yaml()")
    own = (params or SimulationParams(gui=False)).in_use("a simulation", _INSTEAD)
    LogLevelManager.set_log_level(own.log_level)
    return own


def follow_changes(sim: SimulationParts, view: View) -> None:
    """Pass changes of settings on to the parts that keep a value of their own; others read it when they need it."""
    params, guard, collisions, mirror = sim.params, sim.guard, sim.collisions, sim.mirror
    params.when_changed("gravity", mirror.set_gravity)
    mirror.on_gravity = partial(setattr, params, "gravity")
    params.when_changed("blocked_timeout", partial(setattr, mirror.world, "blocked_timeout"))
    params.when_changed("log_level", LogLevelManager.set_log_level)
    params.when_changed("raise_on_fault", partial(setattr, guard, "raise_on_fault"))
    params.when_changed("max_failures", partial(setattr, guard, "max_failures"))
    params.when_changed("collision_check_frequency", collisions.set_frequency)
    for name in ("enable_collision_shapes", "enable_structure_transparency", "enable_shadows", "enable_gui_panel"):
        params.when_changed(name, lambda shown: view.configure())
    params.when_changed("enable_collision_color_change", lambda shown: view.show_collisions())
