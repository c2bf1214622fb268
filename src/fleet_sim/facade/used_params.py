"""The settings that a simulation runs with: what happens when they are changed, and what to do where they cannot be."""

from __future__ import annotations

from functools import partial

from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.collision.system import CollisionSystem
from fleet_sim.config.params import SimulationParams
from fleet_sim.core.faults import FaultGuard
from fleet_sim.core.log_level import LogLevelManager
from fleet_sim.errors import InvalidValueError
from fleet_sim.facade.view import View

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


def follow_changes(
    params: SimulationParams, guard: FaultGuard, collisions: CollisionSystem, view: View, mirror: BulletMirror
) -> None:
    """Pass changes of `params` on to the parts that keep a value of their own; the others read it when they need it."""
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
