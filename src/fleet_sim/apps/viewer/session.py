"""Session: what one page has for itself, which is what is selected on it, and what its clicks do."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import chain
from threading import RLock
from typing import Any
from urllib.parse import parse_qs, quote

import numpy as np
import viser

from fleet_sim.apps.viewer import panel
from fleet_sim.apps.viewer import source as commands
from fleet_sim.apps.viewer.bodies import linear_light, meets_floor
from fleet_sim.apps.viewer.source import RobotDetails, RunEvent, Source, ViewFrame
from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.params import ActionStatus
from fleet_sim.robots.actions.action import Action
from fleet_sim.world.commands import Command, CommandAck
from fleet_sim.world.features import FEATURES
from fleet_sim.world.snapshot import Snapshot

# What marks the selected robot on a page: a ring around it, its path, and where that ends.


RING, GOAL, PATH = (255, 140, 0), (46, 160, 95), (46, 160, 95)
SIDES = 48
SMALLEST = 0.45
"""Inner radius of the ring at least, in m."""
AROUND = 1.1
"""Inner radius of the ring for one of what it is around."""
SEEN = 0.018
"""Inner radius of the ring for one of how far away the eye is, at least: a robot of many is found again."""


class SelectionMarks:
    """Ring, path and goal of one robot, flat on the floor; on the page from the first `show` on."""

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene = scene
        self._ring: viser.BatchedMeshHandle | None = None
        self._goal: viser.MeshHandle | None = None
        self._path: viser.LineSegmentsHandle | None = None

    def show(self, position: Floats, floor: float, lines: Floats, *, radius: float, away: float) -> None:
        """Mark what stands at `position` (3,) on a floor at that height, with `lines` (L, 2, 3) ahead of it.

        It is of a `radius` in m, as seen from above, and the eye is `away` m from it.
        """
        if self._ring is None or self._goal is None:
            self._ring = self._batch_of_one("/own/ring", *_ring(SMALLEST, 1.25 * SMALLEST))
            goal = _ring(0.0, 0.14)
            self._goal = self._scene.add_mesh_simple(
                "/own/goal", *goal, color=GOAL, side="double", cast_shadow=False, receive_shadow=False, visible=False
            )
        # One above the other, so that neither flickers through the other.
        self._ring.batched_positions = _lifted(position, floor, 0.02)[None].astype(np.float32)
        # Whole tenths: what does not change is not sent.
        scale = round(max(1.0, AROUND * radius / SMALLEST, SEEN * away / SMALLEST), 1)
        self._ring.batched_scales = np.array([scale], np.float32)
        self._ring.visible = True
        self._goal.visible = bool(len(lines))
        if len(lines):
            self._goal.position = _lifted(lines[-1, 1], floor, 0.045)
        self._show_path(lines, floor)

    def _batch_of_one(self, name: str, vertices: Floats, faces: Ints) -> viser.BatchedMeshHandle:
        """Return a mesh on the page whose place is that of a batch, as the places of bodies are.

        Pages move a mesh of its own at once, and a batch when they come to it, on a slow machine a second later: the
        ring would be where the robot is going to be.
        """
        return self._scene.add_batched_meshes_simple(
            name,
            vertices,
            faces,
            np.array([[1.0, 0.0, 0.0, 0.0]]),
            np.zeros((1, 3), np.float32),
            batched_scales=np.ones(1, np.float32),
            batched_colors=linear_light(np.array([RING], np.uint8)),
            lod="off",
            side="double",
            cast_shadow=False,
            receive_shadow=False,
            visible=False,
        )

    def _show_path(self, lines: Floats, floor: float) -> None:
        if not len(lines):
            if self._path is not None:
                self._path.visible = False
            return
        points = np.asarray(lines, np.float32).copy()
        points[..., 2] = floor + 0.04
        if self._path is None:
            self._path = self._scene.add_line_segments("/own/path", points, PATH, thickness=4, thickness_units="screen")
        self._path.points = points
        self._path.visible = True

    def hide(self) -> None:
        """Mark nothing."""
        for mark in (self._ring, self._goal, self._path):
            if mark is not None:
                mark.visible = False


def _lifted(point: Floats, floor: float, lift: float) -> Floats:
    return np.array([point[0], point[1], floor + lift])


def _ring(inner: float, outer: float) -> tuple[Floats, Ints]:
    """Return the vertices (V, 3) and faces (F, 3) of a flat ring around the origin."""
    angles = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    circle = np.stack((np.cos(angles), np.sin(angles), 0.0 * angles), axis=1)
    vertices = np.concatenate((inner * circle, outer * circle))
    own = np.arange(SIDES)
    after = (own + 1) % SIDES
    faces = np.concatenate(
        (np.stack((own, own + SIDES, after + SIDES), axis=1), np.stack((own, after + SIDES, after), axis=1))
    )
    return vertices, faces


# Finding robots on a page: by name, by what they do, by what happened to them, and by looking at all of them.


NO_CHOICE = " "
"""Blank, as what is typed to search stands behind it."""
MOST_CHOICES = 1000
"""Robots that a page lists."""
CHOICES_PERIOD = 1.0
"""In s of real time, between two lists: somebody always begins to move."""
NEAR = 12.0
"""How far the eye is at most from what it goes to, in m."""


def _all(snapshot: Snapshot) -> Bools:
    return np.ones(len(snapshot.names), np.bool_)


def _carrying(snapshot: Snapshot) -> Bools:
    mask = np.zeros(len(snapshot.names), np.bool_)
    mask[snapshot.carriers[snapshot.carriers >= 0]] = True
    return mask


FILTERS: Mapping[str, Callable[[Snapshot], Bools]] = {
    "all": _all,
    "moving": panel.moving_mask,
    "standing": lambda snapshot: ~panel.moving_mask(snapshot),
    "busy": lambda snapshot: snapshot.busy_mask,
    "idle": lambda snapshot: ~snapshot.busy_mask,
    "blocked": lambda snapshot: snapshot.blockers >= 0,
    "carrying": _carrying,
}
"""What robots can be listed by."""


LOOKS = (("Fit all", "A", viser.Icon.MAXIMIZE, False), ("Top view", "T", viser.Icon.MAP_2, True))
"""Buttons that look at all there is: label, key, icon, and whether from above."""


class Finder:
    """The controls of a page that find robots; `choose` is called with the name of one."""

    def __init__(
        self,
        client: viser.ClientHandle,
        choose: Callable[[str], object],
        look: Callable[[bool], object],
        link: Callable[[], object],
    ) -> None:
        """`look` has the page look at all there is, from above or not; `link` has it show a link to what it shows."""
        gui = client.gui
        self._choose = choose
        self._listed = 0.0
        with gui.add_folder("Find", order=panel.FIND):
            self._filter = gui.add_dropdown("state", tuple(FILTERS), hint="Which robots are listed")
            self._robots = self._dropdown(
                gui, "go to", "Type to search; choosing one selects it, as 1 to 9 do", self._go
            )
            self._events = self._dropdown(
                gui, "event", "What happened last; choosing it selects its robot", self._go_back
            )
            for label, key, icon, from_above in LOOKS:
                panel.add_button(gui, label, partial(look, from_above), icon, hint=f"Key: {key}")
                panel.add_key(gui, label, key, partial(look, from_above))
            panel.add_button(gui, "Link", link, viser.Icon.LINK, hint="An address that opens this view again")
        for number in range(1, 10):
            panel.add_key(gui, f"Select robot {number} of the list", str(number), partial(self._go_to_number, number))
        self._shown_events: tuple[RunEvent, ...] = ()

    def show(self, frame: ViewFrame) -> None:
        """Bring both lists up to date."""
        now = time.monotonic()
        if now - self._listed < CHOICES_PERIOD:
            return
        self._listed = now
        snapshot = frame.snapshot
        mask = snapshot.agent_mask & FILTERS[panel.chosen(self._filter, "all")](snapshot)
        self._robots.set_options((NO_CHOICE, *(snapshot.names[row] for row in np.flatnonzero(mask)[:MOST_CHOICES])))
        self._shown_events = tuple(reversed(frame.events))
        # Equal lines of one dropdown could not be told apart.
        self._events.set_options((NO_CHOICE, *dict.fromkeys(map(_line, self._shown_events))))

    @staticmethod
    def _dropdown(gui: viser.GuiApi, label: str, hint: str, act: Callable[[str], object]) -> panel.SharedInput:
        return panel.SharedInput(gui.add_dropdown(label, (NO_CHOICE,), hint=hint), act)

    def _go(self, name: str) -> None:
        if name != NO_CHOICE:
            self._choose(name)
            # For the next search.
            self._robots.show(NO_CHOICE)

    def _go_back(self, line: str) -> None:
        name = next((event.name for event in self._shown_events if _line(event) == line), "")
        if name:
            self._choose(name)

    def _go_to_number(self, number: int) -> None:
        if number < len(self._robots.options):
            self._choose(self._robots.options[number])


def _line(event: RunEvent) -> str:
    return f"{event.time:.1f} s  {event.name}: {event.text}"


# What a link keeps of a view, behind the # of the address of a page.


FARTHEST = 1e5
"""Places in m, and times in s, of links; others are left out."""


@dataclass(frozen=True)
class ViewLink:
    """Where a page looks from and at, in m; what is selected; and the time in s of a recording."""

    eye: tuple[float, ...] = ()
    target: tuple[float, ...] = ()
    selected: str = ""
    time: float | None = None

    @classmethod
    def parse(cls, text: str) -> ViewLink:
        """Return what a link keeps; what is not understood of it is left out."""
        given = (
            {key: values[-1] for key, values in parse_qs(text, max_num_fields=8).items()} if len(text) < 1000 else {}
        )
        eye, target, times = (_numbers(given.get(key, "")) for key in ("eye", "target", "time"))
        has_camera = len(eye) == len(target) == 3 and eye != target
        camera = (eye, target) if has_camera else ((), ())
        return cls(*camera, given.get("selected", ""), times[0] if len(times) == 1 else None)

    def text(self) -> str:
        """Return it as it stands in an address."""
        parts = [f"{key}={','.join(f'{value:g}' for value in place)}" for key, place in self._places() if place]
        parts += [f"selected={quote(self.selected, safe='')}"] if self.selected else []
        parts += [] if self.time is None else [f"time={self.time:g}"]
        return "&".join(parts)

    def _places(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        return ("eye", self.eye), ("target", self.target)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        return ()
    return values if all(math.isfinite(value) and abs(value) < FARTHEST for value in values) else ()


# What a snapshot tells of the entity that is selected on a page.


GROUND = 0.5
"""What ends below this height in m stands on the ground, on wheels or legs that nobody has described; not a storey."""


def tolerance_of(snapshot: Snapshot, index: int) -> float:
    """Return how far from a point an entity may be sent instead of there, by the features that it has."""
    own = [name for name, columns in snapshot.features.items() if name in FEATURES and columns["present"][index]]
    return max((FEATURES.get(name).goal_tolerance for name in own), default=0.0)


def floor_of(snapshot: Snapshot, index: int) -> float:
    """Return the height of the floor that an entity stands on: the ground, unless all of it is higher than GROUND."""
    bodies = snapshot.bodies
    lowest = float(snapshot.positions[index, 2] + bodies.centres[index, 2] - bodies.half_extents[index, 2])
    return lowest if lowest > GROUND else 0.0


def pose_lines(position: Floats, velocity: Floats) -> list[tuple[str, str]]:
    x, y, z = position.tolist()
    return [("position", f"{x:.2f}, {y:.2f}, {z:.2f} m"), ("speed", f"{np.linalg.norm(velocity):.2f} m/s")]


NOBODY = "Click a robot to select it."
HEADING, ROW = "**{}**\n\n| | |\n|---|---|\n", "| {} | {} |\n"
SEND = "\n*Click the floor to send it there; with shift it goes there after what it does.*"
NOTICE = 6.0
"""How long a message stays, in s."""
NO_CAMERA = "none"
HANDLES, HANDLES_SEEN = 1.2, 0.05
"""Size of the handles that a robot is dragged with at least: in m, and for one of how far away the eye is."""


class Session:
    """The selection of one page, the panel that tells of it, and the commands of this page."""

    def __init__(
        self,
        client: viser.ClientHandle,
        source: Source,
        *,
        may_act: bool,
        may_spawn: bool,
        height: Callable[[], float],
        eye: Callable[[tuple[int, int], bool], Any],
        address: tuple[str, str] = ("", ""),
    ) -> None:
        """`height` returns that of the floor, in m, on which robots are added.

        `eye` returns from where a page of so many pixels sees all there is, from above or not. `address` is that of the
        page, and what a link kept of a view.
        """
        self._eye = eye
        self._address, self._link = address[0], ViewLink.parse(address[1])
        self.selected = ""
        self.was_shown = False
        """Whether the page has been brought up to date before."""
        # Frames are shown by one thread, and what is clicked is done by others.
        self._lock = RLock()
        self._height = height
        self._client = client
        self._source = source
        self._may_act = may_act and source.takes_commands
        self._may_spawn = self._may_act and may_spawn
        self._time = 0.0
        self._position: Floats = np.zeros(3)
        self._tolerance = 0.0
        self.floor = 0.0
        """The height of the floor that what is selected stands on, in m."""
        self._orientation: Floats = np.array([0.0, 0.0, 0.0, 1.0])
        self._dragged = False
        self._driving: deque[tuple[str, Action]] = deque()
        self._said: dict[tuple[str, str], float] = {}
        self._marks = SelectionMarks(client.scene)
        self._gizmo: viser.TransformControlsHandle | None = None
        self._follows = False
        self._goes = False
        self._build()

    # ---- the panel ---------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        gui = self._client.gui
        self._finder = Finder(self._client, self.go_to, self.look_at_all, self._show_link)
        with gui.add_folder("Selected", order=panel.SELECTED):
            self._text = panel.PanelText(gui, NOBODY)
            self._follow = gui.add_checkbox("follow with the camera", False, visible=False)
            self._move = gui.add_checkbox("move by hand", False, visible=False)
            self._camera = gui.add_dropdown("camera", (NO_CAMERA,), visible=False)
            self._picture = gui.add_image(np.zeros((2, 2, 3), np.uint8), visible=False)
            self._buttons: list[viser.GuiButtonHandle] = []
            # A button that is not shown is a button to whoever writes to the server himself.
            if self._may_act:
                stop = lambda: self.send(commands.stop(self.selected))  # noqa: E731  looked up when it is pressed
                self._buttons.append(self._button("Stop", stop, viser.Icon.HAND_STOP))
            if self._may_spawn:
                self._buttons.append(self._button("Remove", self._ask_to_remove, viser.Icon.TRASH))
            self._let_go = self._button("Deselect", lambda: self.select(""), viser.Icon.X)
            self._plot = panel.OwnPlot(gui)
        # Also when it is switched off because nothing is selected any more.
        self._move.on_update(self._set_gizmo)
        if self._may_spawn:
            with gui.add_folder("Add", order=panel.ADD, expand_by_default=False):
                self._model = gui.add_dropdown("robot", commands.robots_to_add())
                hint = "Where the middle of the picture is on the floor"
                panel.add_button(gui, "Add in the middle", self._add_robot, viser.Icon.PLUS, hint=hint)

    def _button(self, label: str, act: Callable[[], object], icon: viser.IconName) -> viser.GuiButtonHandle:
        return panel.add_button(self._client.gui, label, act, icon, visible=False)

    # ---- what a page asks for ----------------------------------------------------------------------------------------

    @property
    def camera(self) -> tuple[str, str] | None:
        """The robot and its camera whose pictures are shown."""
        return None if not self.selected or self._camera.value == NO_CAMERA else (self.selected, self._camera.value)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the page in pixels."""
        camera = self._client.camera
        return camera.image_width, camera.image_height

    def select(self, name: str) -> None:
        """Select an entity; "": none."""
        with self._lock:
            self.selected = name
            self._follows = self._dragged = self._goes = False
            if not name:
                self._show_nobody()

    def go_to(self, name: str) -> None:
        """Select an entity, and look at it from near."""
        self.select(name)
        self._goes = True

    @property
    def has_view(self) -> bool:
        """Whether its link says from where it looks."""
        return bool(self._link.eye)

    def _open_link(self) -> None:
        """Show what the link of the page kept."""
        link, camera = self._link, self._client.camera
        if link.eye:
            camera.position, camera.look_at = np.array(link.eye), np.array(link.target)
        if link.time is not None and self._source.times is not None:
            self._source.set_paused(True)
            self._source.seek(link.time)
        if link.selected:
            # One that is not there is let go of when it is shown.
            self.select(link.selected)

    def _show_link(self) -> None:
        """Show the address that opens a page like this one."""
        camera = self._client.camera
        eye, target = (tuple(np.round(place, 3).tolist()) for place in (camera.position, camera.look_at))
        moment = None if self._source.times is None else round(self._time, 3)
        modal = self._client.gui.add_modal("Link to this view")
        with modal:
            self._client.gui.add_text(
                "address", f"{self._address}#{ViewLink(eye, target, self.selected, moment).text()}"
            )
            panel.add_button(self._client.gui, "Close", modal.close, viser.Icon.X)

    def _ask_to_remove(self) -> None:
        """Remove what is selected, once that was said twice."""
        name = self.selected
        modal = self._client.gui.add_modal("Remove?")

        def remove() -> None:
            modal.close()
            self.send(commands.remove(name))

        with modal:
            panel.PanelText(self._client.gui).show("**{}** cannot be brought back.", name)
            panel.add_button(self._client.gui, "Remove it", remove, viser.Icon.TRASH)
            panel.add_button(self._client.gui, "Keep it", modal.close, viser.Icon.X)

    def sends_to(self, point: Floats, *, queue: bool, routed: bool) -> None:
        """Send the selected robot to a point (3,) on the floor."""
        if self.selected:
            self.send(
                commands.go_to(
                    self.selected, self._position, point, queue=queue, routed=routed, tolerance=self._tolerance
                )
            )

    def send(self, command: Command) -> None:
        """Send a command, if this page may act; where it is refused, the page says why."""
        if not self._may_act:
            return
        self._source.send(command).add_done_callback(self._answered)

    def _answered(self, future: Future[CommandAck]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is not None:
            self._say("refused", str(error))
        elif not future.cancelled():
            answer = future.result()
            for name, reason in answer.rejected.items():
                self._say(name, reason)
            if isinstance(answer.value, dict):
                # Whether it can be done is known later, when the robot comes to it.
                self._driving.extend(
                    (name, action) for name, action in answer.value.items() if isinstance(action, Action)
                )

    def _say(self, title: str, text: str) -> None:
        """Show a message; the same one again only when the first is gone, as of each place that one drags over."""
        now = time.monotonic()
        if now - self._said.get((title, text), -NOTICE) < NOTICE:
            return
        self._said = {said: at for said, at in self._said.items() if now - at < NOTICE} | {(title, text): now}
        self._client.add_notification(title, text, auto_close_seconds=NOTICE, color="red")

    def _add_robot(self) -> None:
        eye, target = np.array(self._client.camera.position), np.array(self._client.camera.look_at)
        point = meets_floor(eye, target - eye, self._height())
        if point is None:
            self._say("not added", "the middle of the picture is not on the floor")
        else:
            self.send(commands.spawn(self._model.value, point))

    # ---- what a page shows -------------------------------------------------------------------------------------------

    def show(self, frame: ViewFrame) -> None:
        """Bring the page's own part up to date."""
        if not self.was_shown:
            self._open_link()
        self.was_shown = True
        self._time = frame.snapshot.time
        self._report_failures()
        self._finder.show(frame)
        with self._lock:
            self._show_selected(frame)

    def look_at_all(self, from_above: bool = False) -> None:
        """Look from where all there is is seen, as large as it can be beside the panel."""
        camera, eye = self._client.camera, self._eye(self.size, from_above)
        with self._lock:
            panel.show_value(self._follow, False)
        camera.position, camera.look_at = eye.position, eye.target
        camera.far = max(20.0 * eye.away, 200.0)

    def _show_selected(self, frame: ViewFrame) -> None:
        snapshot = frame.snapshot
        if not self.selected:
            return
        if self.selected not in snapshot.names:
            self.select("")
            return
        index = snapshot.index_of(self.selected)
        self._position, self._orientation = snapshot.positions[index], snapshot.orientations[index]
        self.floor = floor_of(snapshot, index)
        self._tolerance = tolerance_of(snapshot, index)
        is_robot = bool(snapshot.agent_mask[index])
        details = frame.details.get(self.selected, RobotDetails())
        lines = details.lines or pose_lines(self._position, snapshot.velocities[index])
        advice = SEND if is_robot and self._may_act else ""
        self._text.show(HEADING + ROW * len(lines) + advice, self.selected, *chain.from_iterable(lines))
        self._follow.visible = self._let_go.visible = True
        # What is carried is where its carrier has it.
        self._move.visible = self._may_act and snapshot.carriers[index] < 0
        if not self._move.visible:
            panel.show_value(self._move, False)
        for number, button in enumerate(self._buttons):
            button.visible = self._may_act and (is_robot or number > 0)
        self._plot.show(snapshot, index)
        self._show_marks(frame, index)
        self._show_camera(frame, details)
        if self._goes:
            self._goes = False
            self._look_from_near()
        self._follow_camera()

    def _report_failures(self) -> None:
        # Further ones may come from other threads meanwhile.
        for _ in range(len(self._driving)):
            name, action = self._driving.popleft()
            if action.status is ActionStatus.FAILED:
                self._say(name, action.error_message or "failed")
            elif not action.is_complete():
                self._driving.append((name, action))

    def _show_nobody(self) -> None:
        self._text.show(NOBODY)
        self.floor = 0.0
        panel.show_value(self._follow, False)
        panel.show_value(self._move, False)
        self._follow.visible = self._move.visible = self._camera.visible = self._picture.visible = False
        for button in (self._let_go, *self._buttons):
            button.visible = False
        self._plot.hide()
        self._marks.hide()

    def _show_marks(self, frame: ViewFrame, index: int) -> None:
        lines = frame.paths.lines[frame.paths.robots == index]
        bodies = frame.snapshot.bodies
        radius = float(np.hypot(*(np.abs(bodies.centres[index]) + bodies.half_extents[index])[:2]))
        away = float(np.linalg.norm(np.array(self._client.camera.position) - self._position))
        self._marks.show(self._position, self.floor, lines, radius=radius, away=away)
        if self._gizmo is not None and not self._dragged:
            self._gizmo.position, self._gizmo.wxyz = self._position, np.roll(self._orientation, 1)
            self._gizmo.scale = self._handle_size()

    def _handle_size(self) -> float:
        """Return the size of the handles in m: from far away they are larger, so that a mouse can take them."""
        away = float(np.linalg.norm(np.array(self._client.camera.position) - self._position))
        # Whole tenths: what does not change is not sent.
        return round(max(HANDLES, HANDLES_SEEN * away), 1)

    def _show_camera(self, frame: ViewFrame, details: RobotDetails) -> None:
        self._camera.visible = bool(details.cameras)
        options = (NO_CAMERA, *details.cameras)
        if tuple(self._camera.options) != options:
            self._camera.options = options
        key = self.camera
        picture = None if key is None else frame.pictures.get(key)
        self._picture.visible = picture is not None
        if picture is not None:
            self._picture.image = picture

    def _look_from_near(self) -> None:
        """Look at what is selected from the same side as before, from at most NEAR."""
        camera = self._client.camera
        back = np.array(camera.position) - np.array(camera.look_at)
        away = max(float(np.linalg.norm(back)), 1e-6)
        # viser moves what it looks at with the eye.
        camera.position = self._position + back * min(1.0, NEAR / away)
        camera.look_at = self._position

    def _follow_camera(self) -> None:
        before, self._follows = self._follows, bool(self._follow.value)
        if not self._follows:
            return
        camera = self._client.camera
        if not before:
            camera.look_at = self._position
        else:
            # The eye goes along, from wherever it has been turned to; viser moves what it looks at with it. By what a
            # slow page says late of where it was, nothing is lost: it was as far away then.
            camera.position = self._position + np.array(camera.position) - np.array(camera.look_at)

    # ---- moving by hand ----------------------------------------------------------------------------------------------

    def _set_gizmo(self, event: object) -> None:
        with self._lock:
            self._make_gizmo()

    def _make_gizmo(self) -> None:
        gizmo, self._gizmo = self._gizmo, None
        if gizmo is not None:
            gizmo.remove()
        self._dragged = False
        if not self._move.value or not self.selected:
            return
        gizmo = self._gizmo = self._client.scene.add_transform_controls(
            "/own/gizmo",
            self._handle_size(),
            position=self._position,
            wxyz=np.roll(self._orientation, 1),
            depth_test=False,
        )
        gizmo.on_update(self._put)

    def _put(self, event: viser.TransformControlsEvent) -> None:
        gizmo = event.target
        # Until it is let go, it is where the hand is and not where the robot is.
        self._dragged = event.phase != "end"
        if self.selected:
            self.send(commands.put(self.selected, np.array(gizmo.position), np.roll(np.array(gizmo.wxyz), -1)))
