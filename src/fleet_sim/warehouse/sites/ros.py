"""The interface of sites in ROS 2: their stations as named poses, where simulation_interfaces is installed."""

from __future__ import annotations

from importlib.util import find_spec

from fleet_sim.ros.interface import Bridge, Interface


class NamedPoses(Interface):
    """Serves sim/get_named_poses and sim/get_named_pose_bounds."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        # Not every ROS 2 has this package.
        if find_spec("simulation_interfaces") is not None:
            from fleet_sim.warehouse.sites.named_poses import PlaceServices

            PlaceServices(bridge)
