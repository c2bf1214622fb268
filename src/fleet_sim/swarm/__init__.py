"""Swarm worlds: a population with controllers and sensors, objects, spawners, metrics and subscribers.

Read `world.py` and `stepping.py` first: what a world holds, and what happens in a step. What users write derives from a
class in `base.py`. The names below are importable from here; each is loaded at its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "agents": "DetectionRegion DiffDriveAgent MazeAgent StaticAgent StaticObject SwarmAgent UnicycleAgent",
    "base": "AbstractMetric Controller Metric Sensor Spawner Subscriber",
    "config": "RectangularWorldConfig WorldConfig",
    "groups": "Crowd Group",
    "registry": (
        "register_agent_type register_controller_type register_dictlike_type register_metric_type "
        "register_sensor_type register_spawner_type register_world_type"
    ),
    "spawners": "AgentSpawner",
    "subscribers": "WorldSubscriber",
    "world": "RectangularWorld World_from_config",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
