"""Many robots in the traffic of a site, and what an independent look at their places tells."""

from __future__ import annotations

from typing import Any

import numpy as np

import fleet_sim as fs
from fleet_sim.base.arrays import Floats, Ints, Rows
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.robots.spawning import spawn_entries
from fleet_sim.warehouse.sites import Site, build_walls
from fleet_sim.warehouse.traffic import Traffic, offer_traffic
from fleet_sim.warehouse.traffic.floor import regions_of

RADIUS = float(np.hypot(0.25, 0.2))
"""Of the footprint of a robot here."""


def robot(name: str, place: Floats | tuple[float, float], **values: Any) -> dict[str, Any]:
    """Return the spawn entry of a box that drives at 2 m/s."""
    return {
        "name": name,
        "motion_mode": "differential",
        "shape": {"shape_type": "box", "half_extents": [0.25, 0.2, 0.15]},
        "pose": {"position": [float(place[0]), float(place[1]), 0.15]},
        "max_linear_vel": 2.0,
        "max_linear_accel": 2.0,
        "max_angular_vel": 3.0,
        "max_angular_accel": 6.0,
        **values,
    }


def spawn(sim: fs.MultiRobotSimulationCore, entry: dict[str, Any]) -> fs.Agent:
    """Spawn one robot from its entry."""
    spawn_entries(sim.world, fs.Agent, [entry], source="", path="robots")
    agent: fs.Agent = sim.get_object(entry["name"])
    return agent


class Crowd:
    """`count` robots on random cells of `site`, in the traffic; sent to random nodes again and again by `roam`."""

    def __init__(
        self,
        site: Site,
        count: int,
        seed: int = 0,
        robots: dict[str, Any] | None = None,
        at: Floats | None = None,
        **settings: Any,
    ):
        """`at` (K, 2) are places to choose from; without them robots stand on cells."""
        rng = np.random.default_rng(seed)
        free = site.grid.positions(site.grid.largest_region()) if at is None else at
        places = free[rng.choice(len(free), count, replace=False)]
        entries = [robot(f"amr_{number}", place, **(robots or {})) for number, place in enumerate(places)]
        params = {"gui": False, "timestep": 0.1, "enable_floor": False, "seed": seed, "raise_on_fault": True}
        self.sim = fs.MultiRobotSimulationCore.from_dict({"simulation": params, "robots": entries})
        build_walls(self.sim, site)
        self.traffic: Traffic = offer_traffic(self.sim, site, **settings)
        self.agents = self.sim.agents
        self.traffic.enroll(self.agents)
        self.radius = max(footprint_radius(self.sim.world, agent.row) for agent in self.agents)
        self.done = 0
        self.closest = np.inf
        self._rng = rng

    def roam(self) -> None:
        """Send every robot to a random node, and on from there."""
        self.sim.events.on("traffic_arrived", self._send_on)
        rows = self.traffic.rows
        self.traffic.send_rows(rows, self._somewhere(rows))

    def _somewhere(self, rows: Rows) -> Ints:
        """Return a random node for each of `rows`, of those that it can reach."""
        network = self.traffic.network
        labels = regions_of(network)
        homes = labels[network.node_at(self.sim.world.position[rows, :2])]
        return np.array([self._rng.choice(np.flatnonzero(labels == home)) for home in homes.tolist()], np.int64)

    def _send_on(self, agent: fs.Agent, node: int) -> None:
        self.done += 1
        self.traffic.send(agent, int(self._somewhere(np.array([agent.row]))[0]))

    def run(self, seconds: float) -> None:
        """Step, and look in each step how near robots are, and whether the collision system finds any pair."""
        for _ in range(round(seconds / self.sim.clock.dt)):
            self.sim.step_once()
            self.closest = min(self.closest, closest(self.sim.world.position[self.traffic.rows, :2]))
            assert not self.sim.get_active_collision_pairs()


def closest(places: Floats) -> float:
    """Return the least distance of two of `places` (N, 2), by looking at all pairs."""
    gaps = places[:, None] - places[None]
    squares = (gaps**2).sum(axis=2)
    squares[np.arange(len(places)), np.arange(len(places))] = np.inf
    return float(np.sqrt(squares.min(initial=np.inf)))
