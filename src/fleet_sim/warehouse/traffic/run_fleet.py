"""A fleet for a run: a simulation with the walls of a site, and equal robots on its cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.base.arrays import Bools, Ints, Rows
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import MovementDirection, SimulationParams
from fleet_sim.robots.spawn_params import AgentSpawnParams, ShapeParams
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.section import build_walls
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic.columns import TrafficColumns
from fleet_sim.warehouse.traffic.settings import TrafficSettings
from fleet_sim.warehouse.traffic.traffic import Traffic, offer_traffic
from fleet_sim.warehouse.traffic.workload import FleetSettings
from fleet_sim.world.checkpoint import check_range
from fleet_sim.world.world import World

HEIGHT = 0.3
WALL_HEIGHT = 1.0


def make_fleet(site: Site, starts: Ints, fleet: FleetSettings, traffic: TrafficSettings, seed: int) -> RunFleet:
    """Return a simulation with a robot on each of the cells `starts` (R,) of `site`, in one traffic.

    Every step looks for collisions, also with walls. Raises InvalidValueError for robots that do not fit.
    """
    params = SimulationParams(
        gui=False,
        monitor=False,
        target_rtf=0.0,
        timestep=fleet.timestep,
        seed=seed,
        collision_margin=fleet.margin,
        ignore_static_collision=False,
        # A run goes on to its end; going back to its start would only take memory.
        keep_initial_state=False,
    )
    sim = MultiRobotSimulationCore(params)
    build_walls(sim, site, WALL_HEIGHT)
    shape = ShapeParams("cylinder", radius=fleet.radius, height=HEIGHT)
    # By default they turn to where they drive, as the rules of the League have it.
    leads = MovementDirection.AUTO if fleet.backwards else MovementDirection.FORWARD
    controller = {
        "type": "differential",
        "default_direction": leads,
        "max_linear_vel": fleet.speed,
        "max_linear_accel": fleet.acceleration,
        "max_angular_vel": fleet.turn_speed,
        "max_angular_accel": fleet.turn_acceleration,
    }
    places = site.grid.positions(starts).tolist()
    entries = [
        AgentSpawnParams(
            shape,
            shape,
            Pose.from_yaw(x, y, 0.5 * HEIGHT, site.grid.origin[2]),
            name=f"robot_{number}",
            controller=controller,
            pickable=False,
        )
        for number, (x, y) in enumerate(places)
    ]
    robots = sim.spawn_all(entries)
    offered = offer_traffic(sim, site, traffic)
    offered.enroll(robots)
    return RunFleet(sim, site, offered)


@dataclass(frozen=True, eq=False)
class RunFleet:
    """A simulation, the site in it, and its traffic; close the simulation when done."""

    sim: MultiRobotSimulationCore
    site: Site
    traffic: Traffic


# Crew: the robots that were in a traffic when work began, as long as they are.


class Crew:
    """Robots, numbered from 0 in the order they were enrolled: `robots` (K,) are left, in the rows `rows` (K,)."""

    def __init__(self, world: World, traffic: Traffic) -> None:
        table = world.tables["traffic"]
        assert isinstance(table, TrafficColumns)
        self.table = table
        self.rows: Rows = np.array(traffic.rows)
        self.robots: Ints = np.arange(len(self.rows))
        self.count = len(self.rows)
        self._world = world
        self._ids: Ints = np.array(world.object_id[self.rows])

    def renew(self) -> Bools | None:
        """Forget robots that were removed or left the traffic; return which stay (K,), None where all do."""
        # A row that is free may be another robot's by now.
        stay_mask = self.table.present[self.rows] & (self._world.object_id[self.rows] == self._ids)
        if stay_mask.all():
            return None
        self.rows, self.robots, self._ids = (part[stay_mask] for part in (self.rows, self.robots, self._ids))
        return np.asarray(stay_mask)

    def save(self) -> tuple[Rows, Ints, Ints]:
        """Return who is in it, for a checkpoint."""
        return self.rows, self.robots, self._ids

    def restore(self, saved: tuple[Rows, Ints, Ints]) -> None:
        """Restore what `save` returned; raises StateFileError for rows that there are not."""
        check_range(saved[0], 0, self._world.capacity, "rows of the crew")
        check_range(saved[1], 0, self.count, "robots of the crew")
        self.rows, self.robots, self._ids = saved
