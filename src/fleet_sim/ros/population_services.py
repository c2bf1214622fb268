"""/sim/spawn, /sim/delete, /sim/attach and /sim/list."""

from __future__ import annotations

from typing import Any

import numpy as np
from shape_msgs.msg import SolidPrimitive

from fleet_sim.core import commands as c
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.errors import FleetSimError, InvalidValueError, brief
from fleet_sim.geometry import Pose
from fleet_sim.ros.conversions import ack_to_msg, poses_to_msgs, time_to_msg
from fleet_sim.ros.simulation_services import Handler, SimulationServices
from fleet_sim.settings import parse_remote
from fleet_sim_msgs.srv import Attach, Delete, List, Spawn

SHAPES: dict[int, tuple[str, tuple[str, ...]]] = {
    SolidPrimitive.BOX: ("box", ("x", "y", "z")),
    SolidPrimitive.SPHERE: ("sphere", ("radius",)),
    SolidPrimitive.CYLINDER: ("cylinder", ("height", "radius")),
}
"""The shapes that Spawn accepts: their name and the meaning of their dimensions."""


class PopulationServices(SimulationServices):
    """Spawns, removes, attaches and lists robots and objects. Responds when it is done.

    The services sim/spawn, sim/delete, sim/attach and sim/list. Requests take effect between two steps. A spawn with
    one invalid option spawns nothing; a deletion answers for each name.
    """

    def services(self) -> dict[str, tuple[Any, Handler]]:
        changes = {"spawn": (Spawn, self._on_spawn), "delete": (Delete, self._on_delete)}
        return changes | {"attach": (Attach, self._on_attach), "list": (List, self._on_list)}

    async def _on_spawn(self, request: Any, response: Any) -> Any:
        gateway = self.bridge.gateway
        try:
            await gateway.wait(gateway.send(lambda: self._spawn(request)))
            response.success = True
        except FleetSimError as error:
            response.message = str(error)
        return response

    async def _on_delete(self, request: Any, response: Any) -> Any:
        """Remove entities; the result says which were not, and why."""
        command = c.Remove(names=tuple(request.names), source="sim/delete")
        try:
            ack = await self._dispatch(command)
        except FleetSimError as error:
            # All are rejected, each with the reason, so that the answer has the same form.
            ack = CommandAck(source=command.source, rejected=dict.fromkeys(command.names, str(error)))
        response.result = ack_to_msg(ack, self.bridge.time.last)
        return response

    async def _on_attach(self, request: Any, response: Any) -> Any:
        """Attach or detach an object; the message says why not."""
        command = c.Attach(
            name=request.robot,
            object_name=request.object,
            attach=request.attach,
            search_radius=request.search_radius,
            link=request.link,
            source="sim/attach",
        )
        try:
            ack = await self._dispatch(command)
            response.success, response.message = ack.ok, "".join(ack.rejected.values())
        except FleetSimError as error:
            response.message = str(error)
        return response

    async def _on_list(self, request: Any, response: Any) -> Any:
        """Respond with names and poses of robots, objects or both, of one moment."""
        snapshot = await self.bridge.gateway.wait(self.bridge.sim.snapshots.request())
        chosen = list(range(len(snapshot.names)))
        if request.kind != List.Request.ALL:
            # By number: the snapshot's arrays go together by place.
            chosen = np.flatnonzero(snapshot.agent_mask == (request.kind == List.Request.ROBOTS)).tolist()
        response.names = [snapshot.names[index] for index in chosen]
        response.robots = snapshot.agent_mask[chosen].tolist()
        response.poses = poses_to_msgs(snapshot.positions[chosen], snapshot.orientations[chosen])
        response.stamp = time_to_msg(self.bridge.time.last)
        return response

    async def _dispatch(self, command: c.Command) -> CommandAck:
        gateway = self.bridge.gateway
        return await gateway.wait(gateway.send(lambda: command))

    def _spawn(self, request: Any) -> c.Spawn:
        """Return the Spawn command for a request; raises FleetSimError."""
        if request.kind not in (Spawn.Request.ROBOT, Spawn.Request.OBJECT):
            raise InvalidValueError(f"kind: expected ROBOT (0) or OBJECT (1), got {request.kind}")
        # The request wins over its options, which may not rename or move the entity.
        entry = read_options(request.options) | {"name": request.name, "pose": self._pose(request.pose)}
        if request.model:
            if request.kind != Spawn.Request.ROBOT:
                raise InvalidValueError("model: only robots are made from description files; give a shape or a mesh")
            entry["urdf_path"] = request.model
        elif request.mesh:
            entry["shape"] = {"shape_type": "mesh", "mesh_path": request.mesh, **_color(request.color)}
        elif "shape" not in entry:
            entry["shape"] = {**_shape(request.shape), **_color(request.color)}
        if request.kind == Spawn.Request.ROBOT:
            return c.Spawn(robots=(entry,), source="sim/spawn")
        return c.Spawn(objects=(entry,), source="sim/spawn")

    def _pose(self, stamped: Any) -> dict[str, Any]:
        p, q = stamped.pose.position, stamped.pose.orientation
        turn = (q.x, q.y, q.z, q.w)
        # A quaternion that nobody set is all zeros in ROS 2.
        pose = Pose((p.x, p.y, p.z), turn if any(turn) else (0.0, 0.0, 0.0, 1.0))
        return pose_entry(self.bridge.transforms.pose_to_map(stamped.header.frame_id, pose))


def pose_entry(pose: Pose) -> dict[str, Any]:
    """Return a pose in the form of a scenario entry."""
    return {"position": list(pose.position), "orientation": list(pose.orientation)}


def read_options(text: str) -> dict[str, Any]:
    """Return the keys of a scenario entry that a request has as YAML; raises InvalidValueError."""
    options = parse_remote(text or "{}", "options")
    if not isinstance(options, dict):
        raise InvalidValueError(f"options: expected a YAML mapping of keys of a scenario entry, got {brief(text)}")
    return options


def _shape(primitive: Any) -> dict[str, Any]:
    """Return the settings of a shape; raises InvalidValueError for other kinds and for sizes of 0 or less."""
    known = SHAPES.get(primitive.type)
    if known is None:
        raise InvalidValueError(f"shape.type: expected BOX (1), SPHERE (2) or CYLINDER (3), got {primitive.type}")
    name, meanings = known
    numbers = [float(number) for number in primitive.dimensions]
    # NaN is refused first: it is not below 0, so the comparison would let it pass.
    if len(numbers) != len(meanings) or not all(np.isfinite(numbers)) or min(numbers) <= 0.0:
        wanted = ", ".join(meanings)
        raise InvalidValueError(f"shape.dimensions: a {name} has {wanted}, each above 0 m, got {numbers}")
    # Full edges in the message, halves in a scenario.
    if name == "box":
        return {"shape_type": "box", "half_extents": [0.5 * number for number in numbers]}
    return {"shape_type": name, **dict(zip(meanings, numbers, strict=True))}


def _color(color: Any) -> dict[str, Any]:
    # A color that nobody set is all zeros in ROS 2; the default color is used then.
    rgba = [color.r, color.g, color.b, color.a]
    return {"rgba_color": rgba} if any(rgba) else {}
