"""What the documents call a Bullet client: here a simulation, or its `bullet`."""

from __future__ import annotations

from fleet_sim.bullet.handle import BulletHandle
from fleet_sim.errors import InvalidValueError
from fleet_sim.simulation import MultiRobotSimulationCore

Client = MultiRobotSimulationCore | BulletHandle


def simulation_of(client: Client) -> MultiRobotSimulationCore:
    """Return the simulation that `client` is or belongs to; raises InvalidValueError for anything else."""
    found: object = client.owner if isinstance(client, BulletHandle) else client
    if isinstance(found, MultiRobotSimulationCore):
        return found
    raise InvalidValueError(
        f"bullet_client: expected a simulation (MultiRobotSimulationCore) or its `bullet`, got {client!r}. A "
        "connection to PyBullet alone is not enough, as the simulation has to know of what is made"
    )
