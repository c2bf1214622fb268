"""pick and drop: objects of the world are attached to the robot, and put down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import UnknownNameError
from fleet_sim.vda5050.vehicle import ActionEntry, Vehicle
from fleet_sim.vda5050.work.action import ActionParameter, VehicleAction

_LABELS = (
    ActionParameter("stationType", "STRING", True, "a label"),
    ActionParameter("stationName", "STRING", True, "a label"),
    ActionParameter("loadType", "STRING", True, "a label, told with the load in states"),
    ActionParameter("loadId", "STRING", True, "name of the object; without it the nearest one, or the first carried"),
)


class LoadAction(VehicleAction):
    """Handles a load for some time, and only then takes it or puts it down; it cannot be canceled in between."""

    parameters: ClassVar[tuple[ActionParameter, ...]] = _LABELS
    can_cancel = False

    def time(self, vehicle: Vehicle) -> float:
        """Return how long it takes, in s."""
        raise NotImplementedError

    def hand_over(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Take the load or put it down, when the time has passed, and end the action."""
        raise NotImplementedError

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Begin to handle the load."""
        entry.left = self.time(vehicle)

    def proceed(self, vehicle: Vehicle, entry: ActionEntry, dt: float) -> None:
        """Take or put down the load when the time has passed."""
        if entry.spend(dt):
            self.hand_over(vehicle, entry)


class PickLoad(LoadAction):
    """Takes an object that is within reach; `loadId` is its name. It ends where the object then is, on the robot."""

    doc = "Take a load that is within reach."

    def time(self, vehicle: Vehicle) -> float:
        """Return the time to pick."""
        return vehicle.settings.pick_time

    def hand_over(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Attach the object; fail where there is none that can be taken."""
        found = self._found(vehicle, entry.action.parameters)
        if isinstance(found, str):
            self.fail(entry, found)
        elif not vehicle.agent.attach_object(found, keep_world_pose=True):
            self.fail(entry, f"{found.name!r} cannot be taken")
        else:
            kind = entry.action.parameters.get("loadType")
            if kind is not None:
                vehicle.state.load_types[found.object_id] = kind
            self.finish(entry, found.name or "")

    def _found(self, vehicle: Vehicle, parameters: Mapping[str, Any]) -> SimObject | str:
        reach, wanted = vehicle.settings.reach, parameters.get("loadId")
        if wanted is None:
            nearest = vehicle.agent.find_nearest_pickable(reach, use_2d_search=True)
            return nearest if nearest is not None else f"there is no load within {reach:g} m"
        world = vehicle.world
        try:
            found: SimObject = world.handles[world.index.row_named(wanted)]
        except UnknownNameError:
            return f"there is no load {wanted!r}"
        x, y = vehicle.place
        gap = ((found.position[0] - x) ** 2 + (found.position[1] - y) ** 2) ** 0.5
        if gap > reach:
            return f"load {wanted!r} is {gap:.2f} m away, within reach are {reach:g} m"
        if found.row == vehicle.row or not found.pickable or found.attached_to is not None:
            return f"load {wanted!r} cannot be taken: it is held by another robot, or is no load"
        return found


class DropLoad(LoadAction):
    """Puts down an object that it carries, where that is; `loadId` is its name."""

    doc = "Put down a load."

    def time(self, vehicle: Vehicle) -> float:
        """Return the time to put down."""
        return vehicle.settings.drop_time

    def hand_over(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Detach the object; fail where it is not carried."""
        wanted = entry.action.parameters.get("loadId")
        carried = [load for load in vehicle.agent.get_attached_objects() if wanted in (None, load.name)]
        if not carried:
            self.fail(entry, "it carries no load" if wanted is None else f"it does not carry load {wanted!r}")
            return
        vehicle.agent.detach_object(carried[0])
        vehicle.state.load_types.pop(carried[0].object_id, None)
        self.finish(entry, carried[0].name or "")
