"""What does not move: floor, light, the places of a site, and where a camera begins."""

from __future__ import annotations

import numpy as np
import viser

from fleet_sim.arrays import Bools, Floats
from fleet_sim.sites.floor_plan import FloorPlan
from fleet_sim.sites.plan_colors import DOOR_COLOR, STATION_COLORS, station_half, zone_color
from fleet_sim.sites.stations import Station, StationKind, Zone
from fleet_sim.viewer.web.bodies import ShownBodies

FLOOR, LINES, SECTIONS = (243, 244, 247), (231, 233, 238), (216, 220, 227)
SUN = (-18.0, -40.0, 50.0)
"""Where light comes from, in m; it shines on the origin."""
FIELD_OF_VIEW = 0.75
"""Of a page at the beginning, vertical, in rad: narrow enough that far things are not small."""
DIRECTION: Floats = np.array([-0.42, -0.72, 0.62])
"""From the middle of the scene to the first eye."""
FILLED = 1.05
"""How much of the height of the picture bodies fill at the beginning."""
TO_LEFT, TO_RIGHT, HIGH = 1.25, 0.75, 0.96
"""Where corners of bodies are in the first picture, from its middle, in halves of its height; the panel is right."""
ASIDE = 0.32
"""How far the middle of the scene is to the left of the middle of the picture, in the same."""
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


def frame_scene(server: viser.ViserServer, bodies: ShownBodies) -> float:
    """Have pages begin where all bodies are seen, and as large as they can be beside the panel; returns how far away.

    That is from the eye to the middle of the scene, in m.
    """
    radii = bodies.table.radii
    shown_mask = (radii < LARGEST) & (np.abs(bodies.positions).max(axis=1, initial=0.0) < LARGEST)
    points = bodies.positions[shown_mask] if shown_mask.any() else np.zeros((1, 3))
    room = np.minimum(radii[shown_mask], MOST_ROOM) if shown_mask.any() else np.full(1, MOST_ROOM)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    back = DIRECTION / np.linalg.norm(DIRECTION)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    axes = np.stack((right, np.cross(back, right), back))
    slope = np.tan(0.5 * FIELD_OF_VIEW)
    # Far enough that each body is within the picture: what is nearer to the eye needs more.
    x, y, z = axes @ (points - middle).T
    fits = np.maximum((np.abs(x) + room) / FILLED, (np.abs(y) + room) / HIGH) / slope + z
    away = max(float(fits.max()), NEAREST)
    large_mask = shown_mask & (radii > MOST_ROOM)
    away = max(away, _far_enough(axes @ (_corners(bodies, large_mask) - middle).T, slope))
    # The panel is on the right, so the scene is a little to the left.
    target = middle + ASIDE * away * slope * right
    camera = server.initial_camera
    camera.position = target + away * back
    camera.look_at = target
    camera.up = np.array([0.0, 0.0, 1.0])
    camera.fov = FIELD_OF_VIEW
    camera.near, camera.far = 0.05, max(20.0 * away, 200.0)
    return away


def _corners(bodies: ShownBodies, mask: Bools) -> Floats:
    """Return the corners (K, 3) of some bodies, and of floors their middles."""
    corners = bodies.corners()[mask]
    sizes = np.ptp(corners, axis=1)
    floor_mask = (sizes[:, 2] < FLAT) & (sizes[:, :2].max(axis=1, initial=0.0) > WIDE_FLOOR)
    corners[floor_mask] = corners[floor_mask].mean(axis=1, keepdims=True)
    return corners.reshape(-1, 3)


def _far_enough(corners: Floats, slope: float) -> float:
    """Return how far the eye is to be from the middle of the scene so that no corner is outside of the picture.

    `corners` (3, K) are from the middle to the right, upwards and to the eye; `slope` is half the height of the picture
    for one of distance. Each edge of the picture asks for a distance.
    """
    x, y, z = corners
    sides = (
        np.abs(y) / (HIGH * slope) + z,
        (x + TO_RIGHT * slope * z) / ((TO_RIGHT + ASIDE) * slope),
        (TO_LEFT * slope * z - x) / ((TO_LEFT - ASIDE) * slope),
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
