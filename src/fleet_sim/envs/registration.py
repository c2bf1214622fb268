"""The Gymnasium ids of the environments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from fleet_sim.errors import missing_extra

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise missing_extra("gymnasium", "gym", "fleet_sim.envs") from error

NAMESPACE = "FleetSim"
ENTRY_POINTS = "fleet_sim.environment"
"""Entry-point group for environments of other distributions: `Theirs/Dock-v0 = theirs.dock:DockEnv`."""


@dataclass(frozen=True)
class Entry:
    """The import paths of an environment; `vector` if there is also a form with many worlds in one simulation."""

    single: str
    vector: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Default arguments of the environment."""


ENVIRONMENTS: dict[str, Entry] = {
    f"{NAMESPACE}/Navigation-v0": Entry(
        "fleet_sim.envs.single:NavigationEnv", "fleet_sim.envs.vector:NavigationVectorEnv"
    ),
    f"{NAMESPACE}/Milling-v0": Entry("fleet_sim.envs.milling:MillingEnv"),
    f"{NAMESPACE}/Warehouse-v0": Entry("fleet_sim.envs.single:WarehouseEnv"),
    f"{NAMESPACE}/FrankaPosition-v0": Entry("fleet_sim.envs.franka:Franka0Env", settings={"normalized_actions": True}),
    f"{NAMESPACE}/FrankaVelocity-v0": Entry("fleet_sim.envs.franka:Franka1Env", settings={"normalized_actions": True}),
    f"{NAMESPACE}/FrankaDelta-v0": Entry("fleet_sim.envs.franka:Franka2Env"),
}
"""Every environment by id."""


def register_all() -> None:
    """Register all ids with Gymnasium, including those of other distributions; may be called again."""
    for name, entry in ENVIRONMENTS.items():
        # Once: registering an id again would print a warning in every program that imports this twice.
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name, entry_point=entry.single, vector_entry_point=entry.vector, kwargs=dict(entry.settings)
            )
    # No registry of our own here: Gymnasium's imports the class when an environment is made.
    for point in entry_points(group=ENTRY_POINTS):
        if point.name not in gymnasium.registry:
            gymnasium.register(id=point.name, entry_point=f"{point.module}:{point.attr}")
