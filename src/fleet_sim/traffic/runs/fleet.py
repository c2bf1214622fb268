"""A fleet for a run: a simulation with the walls of a site, and equal robots on its cells."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.arrays import Ints
from fleet_sim.config.modes import MovementDirection
from fleet_sim.config.params import SimulationParams
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.spawn_params import AgentSpawnParams
from fleet_sim.geometry import Pose
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.site import Site
from fleet_sim.sites.walls import build_walls
from fleet_sim.traffic.runs.settings import FleetSettings
from fleet_sim.traffic.settings import TrafficSettings
from fleet_sim.traffic.traffic import Traffic
from fleet_sim.traffic.traffic_section import offer_traffic

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
