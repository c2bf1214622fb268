"""ViewStage: all that is on the pages of a view, brought up to date frame by frame."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import RLock, Semaphore

import numpy as np
import viser

from fleet_sim.apps.viewer.bodies import ShownBodies, meets_floor, pick
from fleet_sim.apps.viewer.panel import Overlays, Panel, colors_of, show_value
from fleet_sim.apps.viewer.server import address_of
from fleet_sim.apps.viewer.session import Session
from fleet_sim.apps.viewer.source import Source, ViewFrame, Wanted
from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.base.params import ViewParams
from fleet_sim.base.spatial import quaternions
from fleet_sim.warehouse.sites.drawing import DOOR_COLOR, STATION_COLORS, FloorPlan, station_half, zone_color
from fleet_sim.warehouse.sites.site import Station, StationKind, Zone
from fleet_sim.world.snapshot import Snapshot

# Whom a click on a body means: a load or a rack stands for the robot that carries it, or is under it.


REACH = 1.0
"""How far in m from where a rack was clicked the robot under it is, at most."""
CLEARANCE = 0.5
"""Between the top of a robot and what it is under, at most, in m: a ceiling is not what robots are under."""


def meant(snapshot: Snapshot, index: int, hit: Floats) -> int:
    """Return the index of the entity that a click on the entity `index`, at the point `hit` (3,), is to select.

    Of what is carried that is who carries it, in the end; of a rack the robot under it that is nearest to the click.
    """
    bottom = index
    # Loads may be stacked, and a robot may carry an arm that carries something.
    for _ in range(len(snapshot.names)):
        if snapshot.carriers[bottom] < 0:
            break
        bottom = int(snapshot.carriers[bottom])
    if snapshot.agent_mask[bottom]:
        return bottom
    below = _robot_under(snapshot, bottom, hit)
    return index if below is None else below


def _robot_under(snapshot: Snapshot, index: int, hit: Floats) -> int | None:
    bodies, robots = snapshot.bodies, np.flatnonzero(snapshot.agent_mask)
    places = snapshot.positions[robots] + bodies.centres[robots]
    # In the frame of the rack, whose box is level in it.
    turn = np.tile(quaternions.conjugate(snapshot.orientations[index : index + 1]), (len(robots), 1))
    inside = quaternions.rotate(turn, places - snapshot.positions[index]) - bodies.centres[index]
    half = bodies.half_extents[index]
    gaps = -half[2] - (inside[:, 2] + bodies.half_extents[robots, 2])
    away = np.linalg.norm((places - hit)[:, :2], axis=1)
    # Under it, and not on top of it.
    fits_mask = (np.abs(inside[:, :2]) <= half[:2]).all(axis=1) & (inside[:, 2] < half[2])
    under = np.flatnonzero(fits_mask & (gaps < CLEARANCE) & (away < REACH))
    return int(robots[under[np.argmin(away[under])]]) if len(under) else None


# What does not move: floor, light, the places of a site, and where a camera begins.


FLOOR, LINES, SECTIONS = (243, 244, 247), (231, 233, 238), (216, 220, 227)
SUN = (-18.0, -40.0, 50.0)
"""Where light comes from, in m; it shines on the origin."""
FIELD_OF_VIEW = 0.75
"""Of a page at the beginning, vertical, in rad: narrow enough that far things are not small."""
DIRECTION: Floats = np.array([-0.42, -0.72, 0.62])
"""From the middle of the scene to the first eye."""
TO_LEFT, TO_RIGHT, HIGH = 1.25, 0.75, 0.96
"""Where corners of bodies are in the first picture, from its middle, in halves of its height; the panel is right."""
ASIDE = 0.32
"""How far the middle of the scene is to the left of the middle of the picture, in the same."""
FROM_ABOVE = np.array((0.0, -0.02, 1.0))
"""From the scene to an eye that looks down, with y upwards."""
PANEL_WIDTH = 370.0
"""In pixels, with the gap beside it and a margin."""
NEAREST = 2.5
"""From the middle of the scene to the first eye, at least, in m."""
MOST_ROOM = 2.0
"""Around the origin of a body, in m; of larger ones, such as walls, the corners count."""
FLAT, WIDE_FLOOR = 0.1, 4.0
"""What is lower and wider in m is a floor, of which one need not see the ends."""
SHADOWS, WIDE = 16.0, 30.0
"""Up to which distance of the eye there are shadows, and from which on the floor has larger cells, in m."""
LARGEST = 300.0
"""Half the size in m of what is framed at the beginning, and of bodies that are framed."""
UPPER_FLOOR, UPPER_OPACITY = (222, 227, 236), 0.8
"""Of floors above the ground: what is below shines through."""
ZONE_HEIGHT, STATION_HEIGHT = 0.006, 0.012
"""Above the floor in m, one above the other, so that neither flickers through the other."""


class Ground:
    """Light and floor. Shadows reach 20 m from the eye, so that only small scenes have them."""

    def __init__(self, server: viser.ViserServer) -> None:
        scene = server.scene
        scene.world_axes.visible = False
        # Our own light: viser's is so strong that colors become white.
        scene.configure_default_lights(enabled=False)
        scene.configure_environment_map(None)
        scene.add_light_ambient("/light/sky", color=(225, 235, 255), intensity=1.7)
        self._sun = scene.add_light_directional("/light/sun", color=(255, 248, 235), intensity=2.4, position=SUN)
        self._floor = scene.add_grid(
            "/floor",
            infinite_grid=True,
            cell_size=1.0,
            section_size=5.0,
            cell_color=LINES,
            section_color=SECTIONS,
            plane_color=FLOOR,
            plane_opacity=1.0,
            shadow_opacity=0.22,
            fade_distance=LARGEST,
            # Under everything that lies on the ground.
            position=(0.0, 0.0, -0.004),
        )

    def fit(self, away: float) -> None:
        """Make both fit for an eye that is `away` m from the middle of the scene."""
        self._sun.cast_shadow = away < SHADOWS
        self._floor.cell_size, self._floor.section_size = (5.0, 25.0) if away > WIDE else (1.0, 5.0)


@dataclass(frozen=True)
class Room:
    """Where bodies are in a picture: from its middle to the left, to the right and up, in halves of its height."""

    left: float = TO_LEFT
    right: float = TO_RIGHT
    aside: float = ASIDE

    @classmethod
    def beside_panel(cls, width: float, height: float) -> Room:
        """Return the room in a window of so many pixels, of which the panel covers the right."""
        left = HIGH * width / height
        right = max(left - 2.0 * PANEL_WIDTH / height, 0.25)
        if left >= TO_LEFT and right >= TO_RIGHT:
            return cls()
        return cls(left, right, 0.5 * (left - right))


@dataclass(frozen=True)
class Eye:
    """From where all bodies are seen; `away` m from the middle of the scene."""

    position: Floats
    target: Floats
    away: float


def eye_for(bodies: ShownBodies, room: Room = Room(), direction: Floats = DIRECTION) -> Eye:
    """Return from where all bodies are seen, and as large as they can be beside the panel.

    `direction` is from the scene to the eye.
    """
    radii = bodies.table.radii
    shown_mask = (radii < LARGEST) & (np.abs(bodies.positions).max(axis=1, initial=0.0) < LARGEST)
    points = bodies.positions[shown_mask] if shown_mask.any() else np.zeros((1, 3))
    large_mask = radii > MOST_ROOM
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    back = direction / np.linalg.norm(direction)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    axes = np.stack((right, np.cross(back, right), back))
    slope = np.tan(0.5 * FIELD_OF_VIEW)
    # Far enough that each body is within the picture: what is nearer to the eye needs more.
    small, large = shown_mask & ~large_mask, _corners(bodies, shown_mask & large_mask)
    away = max(
        NEAREST,
        _far_enough(axes @ (bodies.positions[small] - middle).T, slope, room, radii[small]),
        _far_enough(axes @ (large - middle).T, slope, room),
    )
    # The panel is on the right, so the scene is a little to the left.
    target = middle + room.aside * away * slope * right
    return Eye(target + away * back, target, away)


def frame_scene(server: viser.ViserServer, bodies: ShownBodies) -> float:
    """Have pages begin where all bodies are seen; returns how far the eye is from the middle of the scene, in m."""
    eye, camera = eye_for(bodies), server.initial_camera
    camera.position, camera.look_at = eye.position, eye.target
    camera.up = np.array([0.0, 0.0, 1.0])
    camera.fov = FIELD_OF_VIEW
    camera.near, camera.far = 0.05, max(20.0 * eye.away, 200.0)
    return eye.away


def _corners(bodies: ShownBodies, mask: Bools) -> Floats:
    """Return the corners (K, 3) of some bodies, and of floors their middles."""
    corners = bodies.corners()[mask]
    sizes = np.ptp(corners, axis=1)
    floor_mask = (sizes[:, 2] < FLAT) & (sizes[:, :2].max(axis=1, initial=0.0) > WIDE_FLOOR)
    corners[floor_mask] = corners[floor_mask].mean(axis=1, keepdims=True)
    return corners.reshape(-1, 3)


def _far_enough(places: Floats, slope: float, room: Room, space: Floats | float = 0.0) -> float:
    """Return how far the eye is to be from the middle of the scene so that nothing is outside of the picture.

    `places` (3, K) are from the middle to the right, upwards and to the eye, with `space` around each; `slope` is half
    the height of the picture for one of distance. Each edge of the picture asks for a distance.
    """
    x, y, z = places
    sides = (
        (np.abs(y) + space) / (HIGH * slope) + z,
        (x + space + room.right * slope * z) / ((room.right + room.aside) * slope),
        (room.left * slope * z - x + space) / ((room.left - room.aside) * slope),
    )
    return float(np.stack(sides).max(initial=0.0))


class Places:
    """The floor of a storey with its stations, zones and doors, flat on it."""

    def __init__(self, scene: viser.SceneApi, plan: FloorPlan, number: int) -> None:
        self.plan = plan
        self._root = root = f"/site/{number}"
        # All below is hidden with it, and is as high as it is.
        self._frame = scene.add_frame(root, show_axes=False, position=(0.0, 0.0, plan.height))
        if plan.corners is not None and plan.height != 0.0:
            _draw_floor(scene, f"{root}/floor", plan.corners)
        for zone in plan.zones:
            _draw_zone(scene, root, zone)
        kinds = dict.fromkeys(station.kind for station in plan.stations)
        for kind in kinds:
            stations = tuple(station for station in plan.stations if station.kind is kind)
            _draw_stations(scene, f"{root}/stations/{kind.value}", kind, stations, station_half(plan.cell))
        for number, door in enumerate(plan.doors):
            ends = np.array([[(*door.begin, ZONE_HEIGHT), (*door.end, ZONE_HEIGHT)]])
            scene.add_line_segments(f"{root}/doors/{number}", ends, DOOR_COLOR, thickness=0.06)
        self._labels = [
            scene.add_label(f"{root}/names/{number}", station.name, position=(station.x, station.y, 0.3), visible=False)
            for number, station in enumerate(plan.stations)
        ]

    def show(self, *, visible: bool, names: bool) -> None:
        """Show or hide all of it, and the names of its stations."""
        self._frame.visible = visible
        for label in self._labels:
            label.visible = names and visible


def _draw_floor(scene: viser.SceneApi, name: str, corners: tuple[float, float, float, float]) -> None:
    left, bottom, right, top = corners
    # A little below what lies and stands on it.
    places = np.array([(x, y, -0.004) for x, y in ((left, bottom), (right, bottom), (right, top), (left, top))])
    scene.add_mesh_simple(
        name,
        places,
        np.array([(0, 1, 2), (0, 2, 3)]),
        color=UPPER_FLOOR,
        opacity=UPPER_OPACITY,
        side="double",
        cast_shadow=False,
    )


def _draw_stations(
    scene: viser.SceneApi, name: str, kind: StationKind, stations: tuple[Station, ...], half: float
) -> None:
    corners = half * np.array([(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0)])
    yaws = np.array([station.yaw for station in stations])
    turns = np.stack((np.cos(0.5 * yaws), 0.0 * yaws, 0.0 * yaws, np.sin(0.5 * yaws)), axis=1)
    places = np.array([(station.x, station.y, STATION_HEIGHT) for station in stations])
    scene.add_batched_meshes_simple(
        name,
        corners,
        np.array([(0, 1, 2), (0, 2, 3)]),
        turns,
        places,
        batched_colors=STATION_COLORS[kind],
        opacity=0.75,
        lod="off",
        cast_shadow=False,
    )


def _draw_zone(scene: viser.SceneApi, root: str, zone: Zone) -> None:
    corners = np.column_stack((zone.corners, np.full(len(zone.corners), ZONE_HEIGHT)))
    fan = np.array([(0, number, number + 1) for number in range(1, len(corners) - 1)])
    color = zone_color(zone.kind)
    scene.add_mesh_simple(
        f"{root}/zones/{zone.name}", corners, fan, color=color, opacity=0.14, side="double", cast_shadow=False
    )
    edges = np.stack((corners, np.roll(corners, -1, axis=0)), axis=1)
    scene.add_line_segments(f"{root}/zone_edges/{zone.name}", edges, color, thickness=0.04)


log = logging.getLogger("fleet_sim.apps.viewer")

SUNK = 0.3
"""In m below its floor, where the origin of something that stands on it may be."""

ON_THE_FLOOR = 0.1
"""A click on something that does not move, lower than this in m above the floor, is a click on the floor."""

MOST_WITH_PATHS = 200
"""Robots whose paths are shown at the beginning."""

MOST_CLICKS = 50
"""Clicks that wait to be carried out; nobody clicks so fast, and further ones are dropped."""


class ViewStage:
    """The content of all pages. Frames come from the view's thread, pages and clicks from those of the server."""

    def __init__(self, server: viser.ViserServer, source: Source, settings: ViewParams) -> None:
        self._server = server
        self._source = source
        self._settings = settings
        self._may_act = not settings.read_only
        # Held while a frame is shown, and while one looks at what is shown.
        self._lock = RLock()
        self._frame: ViewFrame | None = None
        self._sessions: dict[int, Session] = {}
        server.gui.configure_theme(
            control_layout="floating",
            control_width="medium",
            show_logo=False,
            show_share_button=False,
            brand_color=(38, 116, 217),
        )
        self._ground = Ground(server)
        self._bodies = ShownBodies(server.scene)
        self._overlays = Overlays(server.scene)
        self._panel = Panel(server.gui, source, may_act=self._may_act)
        self._places = [Places(server.scene, plan, number) for number, plan in enumerate(source.floor_plans)]
        self._framed: int | None = None
        self._failed = False
        # One thread: the server's pool would carry out two clicks in any order, and one may be to come after the other.
        self._clicks = ThreadPoolExecutor(1, "view_clicks")
        self._free = Semaphore(MOST_CLICKS)
        for modifier in (None, "shift"):
            # Coroutines are awaited, though its annotation leaves them out.
            server.scene.on_click(modifier=modifier)(self._click_came)  # type: ignore[arg-type]

    def close(self) -> None:
        """Carry out no more clicks."""
        self._clicks.shutdown(wait=False, cancel_futures=True)

    def wanted(self) -> Wanted:
        """Return what the next frame is to have."""
        sessions = list(self._sessions.values())
        return Wanted(
            paths=self._panel.paths.value or any(session.selected for session in sessions),
            scans=self._panel.scans.value,
            robots=frozenset(session.selected for session in sessions if session.selected),
            cameras=frozenset(session.camera for session in sessions if session.camera is not None),
            checkpoints=self._may_act,
        )

    # ---- pages -------------------------------------------------------------------------------------------------------

    def page_came(self, client: viser.ClientHandle) -> None:
        """Give a page that was opened what it has for itself."""
        # A page may click as soon as it has its controls; until it is known here, clicks wait.
        with self._lock:
            self._sessions[client.client_id] = Session(
                client,
                self._source,
                may_act=self._may_act,
                may_spawn=self._settings.spawning,
                height=lambda: 0.0 if self._panel.level is None else self._places[self._panel.level].plan.height,
                eye=self._eye,
                address=address_of(self._server, client.client_id),
            )

    def _eye(self, size: tuple[int, int], from_above: bool) -> Eye:
        """Return from where a page of `size` pixels sees all there is."""
        with self._lock:
            return eye_for(self._bodies, Room.beside_panel(*size), FROM_ABOVE if from_above else DIRECTION)

    def page_went(self, client: viser.ClientHandle) -> None:
        """Forget a page that was closed."""
        with self._lock:
            self._sessions.pop(client.client_id, None)

    async def _click_came(self, event: viser.SceneClickEvent) -> None:
        # Awaited by the server in the order of the clicks; its thread is not to wait for a frame.
        if not self._free.acquire(blocking=False):
            return
        done = self._clicks.submit(self._clicked, event)
        done.add_done_callback(lambda done: self._free.release())
        done.add_done_callback(_report)

    def _clicked(self, event: viser.SceneClickEvent) -> None:
        origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)
        with self._lock:
            session, frame = self._sessions.get(event.client_id), self._frame
            found = pick(self._bodies, origin, direction / np.linalg.norm(direction))
        if session is None or frame is None:
            return
        # Robots on an upper floor stay there: what is seen below it is seen through it.
        point = meets_floor(origin, direction, session.floor)
        if found is not None:
            index, away = found
            hit = origin + away * direction / np.linalg.norm(direction)
            if frame.snapshot.agent_mask[index] or hit[2] > session.floor + ON_THE_FLOOR:
                # What was clicked itself, where the shift key says so.
                itself = event.modifier == "shift"
                session.select(frame.snapshot.names[index if itself else meant(frame.snapshot, index, hit)])
                return
            if hit[2] >= session.floor:
                point = hit
        if point is not None:
            session.sends_to(point, queue=event.modifier == "shift", routed=self._source.routed)

    # ---- frames ------------------------------------------------------------------------------------------------------

    def show(self, frame: ViewFrame) -> None:
        """Bring all pages up to date."""
        with self._lock:
            self._frame = frame
            mode, collisions = self._panel.color_mode, self._panel.collisions.value
            self._bodies.between = self._storey()
            self._bodies.show(
                frame.snapshot, lambda snapshot, bodies: colors_of(snapshot, bodies, mode, collisions=collisions)
            )
            sessions = list(self._sessions.values())
        self._frame_scene(frame, sessions)
        overlays = self._overlays
        overlays.paths, overlays.scans = self._panel.paths.value, self._panel.scans.value
        overlays.names = self._panel.names.value
        overlays.show(frame)
        level = self._panel.level
        for number, places in enumerate(self._places):
            places.show(visible=level in (None, number), names=overlays.names)
        self._panel.show(frame)
        for session in sessions:
            # The camera that pages begin with is for wide windows, and for what was there when the view began.
            if not session.was_shown and not session.has_view:
                session.look_at_all()
            self._show_session(session, frame)

    def _frame_scene(self, frame: ViewFrame, sessions: list[Session]) -> None:
        """Have pages begin where all is seen: once, and again where there is far more, or far less, than then."""
        count, before = len(frame.snapshot.names), self._framed
        if before is None or (before == 0) != (count == 0) or not before <= 2 * count <= 4 * before:
            self._framed = count
            if np.count_nonzero(frame.snapshot.agent_mask) > MOST_WITH_PATHS:
                # One sees nothing else; who wants to see them asks for them.
                show_value(self._panel.paths, False)
            self._ground.fit(frame_scene(self._server, self._bodies))
            for session in sessions:
                # Others have chosen where they look from; on an empty floor nobody has.
                if (not session.was_shown or before == 0) and not session.has_view:
                    session.look_at_all()

    def _show_session(self, session: Session, frame: ViewFrame) -> None:
        try:
            session.show(frame)
        except Exception:
            # What is wrong with one page is not to stop the others.
            if not self._failed:
                log.exception("a page could not be brought up to date; the next one is not named")
            self._failed = True

    def _storey(self) -> tuple[float, float] | None:
        """Return between which heights bodies are shown, in m; None: all of them."""
        level = self._panel.level
        if level is None:
            return None
        height = self._places[level].plan.height
        heights = sorted({places.plan.height for places in self._places})
        above = [other for other in heights if other > height]
        low = height - SUNK if height > heights[0] else -np.inf
        return low, above[0] - SUNK if above else np.inf


def _report(done: Future[None]) -> None:
    """Log what a click raised: nobody waits for it."""
    error = None if done.cancelled() else done.exception()
    if error is not None:
        log.error("a click was not carried out", exc_info=error)
