"""Swarm worlds: a population with controllers and sensors, objects, spawners, metrics and subscribers.

Read `swarm_state.py` and `stepping.py` first: what parts see of a world, and what happens in a step. What users write
derives from Controller, Sensor, Metric, Spawner or Subscriber. The names below can be imported from here; each is
loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "agent_types": "DetectionRegion DiffDriveAgent MazeAgent StaticAgent StaticObject UnicycleAgent",
    "agents": "Controller Group Sensor SwarmAgent",
    "world_config": "RectangularWorldConfig WorldConfig",
    "crowd": "Crowd",
    "metric": "AbstractMetric Metric",
    "registry": (
        "register_agent_type register_controller_type register_dictlike_type register_metric_type "
        "register_sensor_type register_spawner_type register_world_type"
    ),
    "spawners": "AgentSpawner",
    "subscribers": "WorldSubscriber",
    "swarm_world": "Spawner Subscriber",
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
