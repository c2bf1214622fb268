"""/sim/...: services that pause, step, reset, spawn, delete, save, load, record and take pictures."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from shape_msgs.msg import SolidPrimitive
from std_srvs.srv import Trigger

from fleet_sim.base.arrays import png_bytes
from fleet_sim.base.errors import FleetSimError, InvalidValueError, StateError, brief
from fleet_sim.base.files import check_target, exists, is_file, listed, remote_input, status
from fleet_sim.base.geometry import Pose
from fleet_sim.base.limits import MOST_FILES
from fleet_sim.base.settings import parse_remote
from fleet_sim.facade.recording import RunRecording
from fleet_sim.ros.commands import COMMANDS
from fleet_sim.ros.interface import Bridge, Handler, Interface, SimulationServices
from fleet_sim.ros.messages import ack_to_msg, poses_to_msgs, time_to_msg
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world import commands as c
from fleet_sim.world.commands import Command, CommandAck, Reset, RestoreState, SaveState
from fleet_sim.world.inbox import SHARE, Turn
from fleet_sim_msgs.srv import Attach, Delete, List, Load, Record, Save, Spawn, Step, TakePicture

MOST_STEPS = 1_000_000


class RunServices(SimulationServices):
    """Pauses, resumes, steps and resets the simulation. Responds when it is done.

    The services sim/pause, sim/resume, sim/step and sim/reset. sim/step needs a paused simulation and takes 1 to
    1,000,000 steps. A reset ends running goals with the cause SHUTDOWN; the time on /clock goes on.
    """

    def services(self) -> dict[str, tuple[Any, Handler]]:
        answers = {"pause": self._pause, "resume": self._resume, "reset": self._reset}
        return {name: (Trigger, answer) for name, answer in answers.items()} | {"step": (Step, self._step)}

    async def _pause(self, request: Any, response: Any) -> None:
        response.message = "was paused already" if self._switch(self.bridge.sim.pause) else "paused"

    async def _resume(self, request: Any, response: Any) -> None:
        response.message = "runs" if self._switch(self.bridge.sim.resume) else "was running already"

    def _switch(self, call: Callable[[], object]) -> bool:
        """Call `call` where changes are permitted; return whether the simulation was paused before."""
        self.bridge.gateway.permissions.check_change()
        # Asked before: afterwards the answer would always be the same.
        was_paused = self.bridge.sim.is_paused
        call()
        return was_paused

    async def _reset(self, request: Any, response: Any) -> None:
        await self.bridge.carry_out(lambda: Reset(source="sim/reset"))
        response.message = "back at the initial state"

    async def _step(self, request: Any, response: Any) -> None:
        await make_steps(self.bridge, int(request.steps))


async def make_steps(bridge: Bridge, count: int) -> None:
    """Make `count` steps of a paused simulation; raises InvalidValueError and StateError."""
    bridge.gateway.permissions.check_change()
    if not 1 <= count <= MOST_STEPS:
        raise InvalidValueError(f"steps: expected 1 to {MOST_STEPS}, got {count}")
    if not bridge.sim.is_paused:
        raise StateError("the simulation runs; call /sim/pause first")
    # In the simulation's thread: called in this one, `single_step` would block the executor until it is done.
    while count:
        count -= await bridge.read(partial(_make_some, bridge.sim, count), COMMANDS)


def _make_some(sim: MultiRobotSimulationCore, most: int) -> int:
    """Make up to `most` steps, as many as there is time for before others who ask for something; return how many."""
    # What was sent before comes before.
    sim.inbox.drain(sim.dispatcher)
    return 0 if len(sim.inbox) else sim.runner.make_some(most, Turn(SHARE))


# /sim/save and /sim/load: checkpoints by name, and states in files of the operator's folder.


class CheckpointServices(Interface):
    """Saves and restores states of the running simulation, see `NamedCheckpoints`. Responds when it is done.

    The services sim/save and sim/load. States are kept in memory by name, at most 100 of them, or written to files
    below `state_folder`. Goals that did not run when the state was saved end with the cause SHUTDOWN when it is loaded.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        bridge.serve(Save, "sim/save", self._on_save)
        bridge.serve(Load, "sim/load", self._on_load)

    async def _on_save(self, request: Any, response: Any) -> None:
        sim, states = self.bridge.sim, self.bridge.gateway.permissions.states
        command = SaveState(name=request.name, source="sim/save")
        await self._answer(request, response, command, lambda: sim.save_state(states.file_to_write(request.file)))

    async def _on_load(self, request: Any, response: Any) -> None:
        sim, states = self.bridge.sim, self.bridge.gateway.permissions.states
        command = RestoreState(name=request.name, source="sim/load")
        await self._answer(request, response, command, lambda: sim.load_state(states.file_to_read(request.file)))

    async def _answer(self, request: Any, response: Any, command: Command, with_file: Callable[[], object]) -> None:
        """Carry out a command; with a file the call, which is refused where nothing that arrives may change things."""
        try:
            if request.file:
                self.bridge.gateway.permissions.check_change()
                await self.bridge.read(with_file, COMMANDS)
            else:
                await self.bridge.carry_out(lambda: command)
        finally:
            # Also where it was refused, as for a name that there is not.
            response.names = self.bridge.sim.dispatcher.moments.names


# /sim/take_picture: a picture of the world as a PNG.


LARGEST = 4096
"""The longest edge of a picture, in pixels."""


class PictureService(Interface):
    """Renders without a window. The response contains the picture: the client may run on another machine.

    The service sim/take_picture. `view` is a `camera_view_type`; without one the picture is what the window would show.
    Sizes outside 1 to 4096 pixels are rejected. The simulation waits while the picture is drawn.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        bridge.serve(TakePicture, "sim/take_picture", self._on_request)

    async def _on_request(self, request: Any, response: Any) -> None:
        """Respond with a PNG of the scene; a wrong size is refused with a message."""
        for name in ("width", "height"):
            pixels = getattr(request, name)
            if not 1 <= pixels <= LARGEST:
                raise InvalidValueError(f"{name}: expected 1 to {LARGEST} pixels, got {pixels}")
        # As an array: of other sequences rclpy checks every single byte in Python.
        response.image.data = array("B", await self._render(request))
        response.image.header.stamp = time_to_msg(self.bridge.time.last)
        response.image.format = "png"

    async def _render(self, request: Any) -> bytes:
        """Return the picture as PNG, drawn between two steps."""
        sim = self.bridge.sim
        # All settings of the window's camera but the mode: a mode of "manual" would ignore the view.
        config = vars(sim.params.camera_config) | {"camera_mode": "auto", "camera_view_type": request.view}

        def take() -> bytes:
            # Without a view the picture is what the window would show.
            rgb = sim.draw_picture(request.width, request.height, config if request.view else None)
            return png_bytes(rgb)

        return await self.bridge.read(take)


# /sim/record: begin and end a recording, in a folder that the operator names.


LONGEST_NAME = 200
MOST_BYTES = 10_000_000_000
"""Of all recordings in the folder: what others begin must not fill the disk."""


class RecordService(Interface):
    """Records one run at a time into `record_folder`; without that folder it refuses.

    The service sim/record: with a name it begins <name> in that folder, with an empty one it ends the recording. Names
    with a folder in them and files that are there already are rejected, as are more files and bytes than the folder may
    have. A recording ends where the folder has all of these bytes.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._recording: RunRecording | None = None
        bridge.serve(Record, "sim/record", self._on_request)

    async def _on_request(self, request: Any, response: Any) -> None:
        self.bridge.gateway.permissions.check_change()
        call = (lambda: self._begin(str(request.name))) if request.name else self._end
        response.path = await self.bridge.read(call)

    def _begin(self, name: str) -> str:
        """Begin a recording in the node's folder and return its path.

        Raises StateError where none may be made now, and InvalidValueError for a path, or a name that is taken.
        """
        folder = self.bridge.record_folder
        if not folder:
            raise StateError("nothing may be recorded here: the node's parameter record_folder names no folder")
        # A name and no path: nothing is written outside of the folder.
        if name != Path(name).name or name.startswith(".") or len(name) > LONGEST_NAME or not name.isprintable():
            raise InvalidValueError(f"name: expected the name of a file, without a folder, got {name[:80]!r}")
        if self._recording is not None:
            raise StateError(f"{self._recording.path.name} is being recorded; end it first, with an empty name")
        path = Path(folder, name)
        # What is there may be all that is left of another run.
        if exists(path):
            raise InvalidValueError(f"name: {name!r} is there already")
        # Nor through a link that leads to nothing yet.
        with remote_input(output=folder):
            check_target(path)
        sizes = [status(file).st_size for file in listed(folder) if is_file(file)]
        if len(sizes) >= MOST_FILES or sum(sizes) >= MOST_BYTES:
            raise InvalidValueError(
                f"there are {len(sizes)} files of {sum(sizes):,} bytes already; recordings are begun where there are "
                f"less than {MOST_FILES} files and {MOST_BYTES:,} bytes"
            )
        self._recording = self.bridge.sim.record(
            path,
            map_frame=self.bridge.frames.map,
            namespace=self.bridge.node.get_namespace(),
            sensors=self.bridge.record_sensors,
            largest=MOST_BYTES - sum(sizes),
        )
        return str(path)

    def _end(self) -> str:
        recording, self._recording = self._recording, None
        if recording is None:
            raise StateError("nothing is being recorded")
        recording.close()
        return str(recording.path)


# /sim/spawn, /sim/delete, /sim/attach and /sim/list.


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

    async def _on_spawn(self, request: Any, response: Any) -> None:
        self.bridge.gateway.permissions.check(c.Spawn())
        # Read here and not between two steps: of a long text it takes a second.
        options = read_options(request.options)
        await self.bridge.carry_out(lambda: self._spawn(request, options))

    async def _on_delete(self, request: Any, response: Any) -> None:
        """Remove entities; the result says which were not, and why."""
        command = c.Remove(names=tuple(request.names), source="sim/delete")
        try:
            ack = await self.bridge.carry_out(lambda: command)
        except FleetSimError as error:
            # All are rejected, each with the reason, so that the answer has the same form.
            ack = CommandAck(source=command.source, rejected=dict.fromkeys(command.names, str(error)))
        response.result = ack_to_msg(ack, self.bridge.time.last)

    async def _on_attach(self, request: Any, response: Any) -> None:
        """Attach or detach an object; the message says why not."""
        command = c.Attach(
            name=request.robot,
            object_name=request.object,
            attach=request.attach,
            search_radius=request.search_radius,
            link=request.link,
            source="sim/attach",
        )
        ack = await self.bridge.carry_out(lambda: command)
        response.success, response.message = ack.ok, "".join(ack.rejected.values())

    async def _on_list(self, request: Any, response: Any) -> None:
        """Respond with names and poses of robots, objects or both, of one moment."""
        snapshot = await self.bridge.gateway.wait(self.bridge.sim.snapshots.request())
        chosen = list(range(len(snapshot.names)))
        if request.kind != List.Request.ALL:
            # By number: the snapshot's arrays go together by place.
            chosen = np.flatnonzero(snapshot.agent_mask == (request.kind == List.Request.ROBOTS)).tolist()
        response.names = [snapshot.names[index] for index in chosen]
        response.robots = snapshot.agent_mask[chosen].tolist()
        response.poses = poses_to_msgs(snapshot.positions[chosen], snapshot.orientations[chosen])

    def _spawn(self, request: Any, options: dict[str, Any]) -> c.Spawn:
        """Return the Spawn command for a request; raises FleetSimError."""
        if request.kind not in (Spawn.Request.ROBOT, Spawn.Request.OBJECT):
            raise InvalidValueError(f"kind: expected ROBOT (0) or OBJECT (1), got {request.kind}")
        # The request wins over its options, which may not rename or move the entity.
        entry = options | {"name": request.name, "pose": self._pose(request.pose)}
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
