"""What users see and ask of a simulation: PyBullet's window, images, live views, figures, collisions."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from itertools import product
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Bytes, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.geometry import Pose
from fleet_sim.base.monitor import DataMonitor, MonitorFigures, MonitorOutput, RunMeter, window_hindrance
from fleet_sim.base.params import CameraParams, CollisionMode, ViewParams
from fleet_sim.base.settings import read
from fleet_sim.engines.bullet.handle import count_own
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.engines.bullet.window import (
    VISUALIZER_DEFAULTS,
    CameraView,
    Gui,
    Highlight,
    Visualizer,
    fitted_all_around,
    view_from_config,
)
from fleet_sim.engines.bullet.window import setup_camera as place_camera
from fleet_sim.facade.recording import LiveView, open_view
from fleet_sim.facade.run_control import SimulationParts
from fleet_sim.robots import drive
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.sensing.collision.bounds import refresh_bounds
from fleet_sim.sensing.sensors.render.gl import GlRenderer
from fleet_sim.sensing.sensors.render.renderer import AUTO, make_renderer
from fleet_sim.sensing.sensors.render.scene import FlatMarks
from fleet_sim.sensing.sensors.render.shot import MAX_SIDE, Intrinsics, Lighting, Shot, optical_orientations
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.world import World

# Pictures for people: framed, smooth, with shadows.


SMOOTH = 3
"""Pictures are drawn larger by this factor and averaged, as far as the largest picture allows."""


QUIET_FLOOR = Lighting(floor=((0.84, 0.86, 0.90), (0.90, 0.91, 0.93)))
"""The squares of the floor still show distances, but do not drown robots and marks."""


class Painter(AbstractContextManager["Painter"]):
    """Makes pictures of one size (height, width, 3) of a world, one after the other.

    They are drawn by OpenGL where that is there. PyBullet draws them otherwise, and where there are bodies that only
    PyBullet knows; then they have neither shadows nor marks. `smooth` is the factor by which they are drawn larger and
    averaged. The size must have been checked. To be closed.
    """

    def __init__(self, mirror: BulletMirror, width: int, height: int, smooth: int = SMOOTH) -> None:
        self._size = width, height
        self._smooth = max(1, min(smooth, MAX_SIDE // width, MAX_SIDE // height))
        self._renderer = make_renderer(mirror, "tiny" if any(count_own(mirror)) else AUTO, lighting=QUIET_FLOOR)

    def draw(self, view: CameraView, marks: FlatMarks | None = None) -> Bytes:
        """Return the present picture, seen as `view` says, with `marks` on the floor where OpenGL draws it."""
        if isinstance(self._renderer, GlRenderer):
            self._renderer.marks = marks
        width, height = self._size
        rgb = self._renderer.render(shot_of(view, self._smooth * width, self._smooth * height)).rgb
        assert rgb is not None
        blocks = rgb.reshape(height, self._smooth, width, self._smooth, 3)
        return np.asarray(blocks.mean(axis=(1, 3)).round(), np.uint8)

    def close(self) -> None:
        """Free the resources; may be called again."""
        self._renderer.close()

    def __exit__(self, *exception: object) -> None:
        self.close()


def shot_of(view: CameraView, width: int, height: int) -> Shot:
    """Return the shot, with shadows, of what `view` sees."""
    lens = Intrinsics.from_vertical_fov(width, height, math.radians(view.fov))
    pose = eye_of(view)
    orientation = optical_orientations(np.array([pose.orientation]))[0]
    # The nearer the near plane, the coarser are depths far away.
    near = max(0.02, 0.01 * view.distance)
    return Shot.checked(lens, pose.position, orientation, near, 1000.0 + 2.0 * view.distance, ["rgb"], shadows=True)


def check_size(width: int, height: int) -> None:
    """Raise InvalidValueError for a size that no picture can have."""
    Intrinsics.from_vertical_fov(width, height, 1.0)


def eye_of(view: CameraView) -> Pose:
    """Return where the camera of `view` is; its x axis points to the target, z is up."""
    # PyBullet's yaw 0 looks along y, and its pitch is positive for a look upwards.
    yaw, pitch = math.radians(view.yaw + 90.0), math.radians(view.pitch)
    ahead = (math.cos(pitch) * math.cos(yaw), math.cos(pitch) * math.sin(yaw), math.sin(pitch))
    x, y, z = (place - view.distance * step for place, step in zip(view.target, ahead, strict=True))
    return Pose.from_euler(x, y, z, 0.0, -pitch, yaw)


# Collision queries, and settings of collision detection.


Pair = tuple[SimObject, SimObject]


class CollisionQueries:
    """Collision queries that return handles: colliding pairs, near pairs, bounding boxes."""

    def __init__(self, sim: SimulationParts) -> None:
        self._sim, self._world, self._collisions = sim, sim.world, sim.collisions

    def active_pairs(self) -> list[Pair]:
        """Return the pairs that collided at the last check."""
        return self._as_handles(self._collisions.pairs)

    def check(self) -> tuple[list[Pair], dict[str, float]]:
        """Return (pairs colliding now, times in ms), whatever the check rate; events are not affected."""
        # Boxes first: an entity may have been moved since the last step.
        refresh_bounds(self._world)
        pairs = self._as_handles(self._collisions.find())
        return pairs, dict(self._collisions.breakdown)

    def touching_links(self, robot: SimObject | str) -> list[tuple[str, str]]:
        """Return the pairs of links, by name, of a robot with `self_collision` that touched at the last check.

        Raises StateError for a robot without it.
        """
        return self._sim.self_collisions.pairs(self._row(robot))

    def near_pairs(
        self, ignore_static: bool | None = None, moved_objects: Iterable[SimObject] | None = None
    ) -> list[Pair]:
        """Return the pairs whose AABBs are within the collision margin; with `moved_objects` only theirs."""
        refresh_bounds(self._world)
        pairs = self._collisions.candidates(ignore_static)
        if moved_objects is not None:
            rows = np.array([obj.row for obj in moved_objects], np.int64)
            pairs = pairs[np.isin(pairs, rows).any(axis=1)]
        return self._as_handles(pairs)

    def aabbs(self) -> dict[int, tuple[Floats, Floats]]:
        """Return (lower (3,), upper (3,)) of every entity by object id, in m."""
        world = self._world
        refresh_bounds(world)
        rows = world.rows
        lower, upper = world.aabb_lower[rows], world.aabb_upper[rows]
        # Copies by indexing, so that what is returned does not change in the next step.
        ids = world.object_id[rows].tolist()
        return {object_id: (lower[index], upper[index]) for index, object_id in enumerate(ids)}

    def set_frequency(self, frequency: float | None) -> None:
        """Check `frequency` times per simulated second; None: in each step, 0: never."""
        self._sim.params.collision_check_frequency = frequency

    def set_pair(self, first: SimObject | str, second: SimObject | str, enabled: bool | None) -> None:
        """Let two entities never collide (False), or do so whatever their groups and masks (True); None: as those say.

        Events, blocking, avoidance and the engine follow it. It ends with one of the two, is saved in checkpoints,
        goes back with `reset`, and stays when the engine is rebuilt. True cannot make static, disabled or carried
        entities collide. Raises InvalidValueError, and UnknownNameError for a name.
        """
        # Names or handles, as everywhere.
        one, other = self._row(first), self._row(second)
        if one == other:
            raise InvalidValueError(f"{self._world.label(one)!r} cannot collide with itself; name two entities")
        if not (enabled is None or isinstance(enabled, bool)):
            raise InvalidValueError(f"enabled: expected True, False or None (as groups and masks say), got {enabled!r}")
        self._world.collision_filters.set_pair(one, other, enabled)

    def _row(self, entity: SimObject | str) -> int:
        if isinstance(entity, str):
            return self._world.index.row_named(entity)
        if not isinstance(entity, SimObject) or entity.world is not self._world:
            raise InvalidValueError(f"expected an entity of this simulation, or its name, got {entity!r}")
        return entity.row

    def _as_handles(self, pairs: Ints) -> list[Pair]:
        handles = self._world.handles
        return [(handles[a], handles[b]) for a, b in pairs.tolist()]


def scene_bounds(world: World) -> tuple[Floats, Floats]:
    """Return (lower (3,), upper (3,)) of all entities of finite size; zeros for an empty world."""
    lower, upper = _finite_boxes(world)
    if not len(lower):
        return np.zeros(3), np.zeros(3)
    return lower.min(axis=0), upper.max(axis=0)


def scene_corners(world: World) -> Floats:
    """Return the corners (8 * N, 3) of the boxes around all entities of finite size; the origin for an empty world."""
    lower, upper = _finite_boxes(world)
    if not len(lower):
        return np.zeros((1, 3))
    return np.concatenate([np.where(chosen, upper, lower) for chosen in product((False, True), repeat=3)])


def _finite_boxes(world: World) -> tuple[Floats, Floats]:
    # Boxes may be behind, as this is asked between steps.
    refresh_bounds(world)
    rows = world.rows
    lower, upper = world.aabb_lower[rows], world.aabb_upper[rows]
    # A plane has no end, and would make the view infinitely wide.
    finite_mask = np.isfinite(lower).all(axis=1) & np.isfinite(upper).all(axis=1)
    return lower[finite_mask], upper[finite_mask]


class View:
    """The display of the world: in PyBullet's window, in images, and live in a browser (`show`)."""

    def __init__(self, sim: SimulationParts, collision_color: Any = None) -> None:
        mirror = sim.mirror
        self._sim, self._params, self._world, self._mirror = sim, sim.params, sim.world, mirror
        self.highlight = Highlight(mirror, collision_color)
        self._visualizer = Visualizer(mirror)
        self._gui = Gui(mirror, self._visualizer)
        self._camera_placed = False
        self._prepared = False

    # ---- live --------------------------------------------------------------------------------------------------------

    def show(self, **settings: Any) -> LiveView:
        """Open a page that shows the simulation live, and return it; its `url` is to be opened in a browser.

        `settings` are those of ViewParams. The page ends with the simulation, or with its `close`. In a notebook, the
        returned object shows the page. Raises ConfigError, MissingDependencyError without the extra `view`.
        """
        return open_view(self._sim, self._world.events, read(ViewParams, settings))

    # ---- PyBullet ----------------------------------------------------------------------------------------------------

    @property
    def keeps_up(self) -> bool:
        """Whether each step writes poses into the engine, because somebody may look at it without asking."""
        return self._mirror.keeps_up

    @property
    def client_id(self) -> int:
        """The PyBullet client id; after reading it, PyBullet is updated in every step."""
        return self._mirror.hand_out()

    @property
    def floor_id(self) -> int:
        """The PyBullet body of the floor; -1 without a floor, or before the first use of PyBullet."""
        return self._mirror.client.floor_id

    @property
    def connected(self) -> bool:
        """Whether PyBullet has been used."""
        return self._mirror.client.connected

    def connect(self) -> int:
        """Connect to PyBullet now, opening the window in GUI mode; returns the client id, as `client` does."""
        return self._mirror.hand_out()

    # ---- the camera --------------------------------------------------------------------------------------------------

    def setup_camera(self, camera_config: Mapping[str, Any] | CameraParams | None = None) -> CameraView:
        """Set the window's camera to `camera_config` (None: `params.camera_config`) and return the view.

        Mode "auto" fits the present content of the world. Without a window the view is only returned. Raises
        ConfigError.
        """
        self._camera_placed = True
        return place_camera(self._mirror, self._camera_settings(camera_config), self._scene_bounds())

    def draw_picture(
        self, width: int = 640, height: int = 480, camera_config: Mapping[str, Any] | CameraParams | None = None
    ) -> Bytes:
        """Return a picture (height, width, 3) for people: smooth, with shadows, drawn by OpenGL where it is there.

        `camera_config` is as in `setup_camera`. `fleet_sim.base.files.write_png` saves it.
        """
        with self.painter(width, height) as painter:
            return painter.draw(self.framed(width, height, camera_config))

    def framed(
        self,
        width: int,
        height: int,
        camera_config: Mapping[str, Any] | CameraParams | None = None,
        places: Floats | None = None,
        *,
        all_around: bool = False,
    ) -> CameraView:
        """Return the view of `camera_config` (None: as set) for pictures of a size; raises ConfigError.

        `places` (K, 3) are to be seen too, besides the bodies. With `all_around`, all of it is seen at any yaw.
        """
        corners = scene_corners(self._world)
        if places is not None and len(places):
            corners = np.concatenate((corners, places)) if len(self._world) else places
        bounds = corners.min(axis=0), corners.max(axis=0)
        view = view_from_config(self._camera_settings(camera_config), bounds, (corners, width / height))
        return fitted_all_around(corners, width / height, view) if all_around and len(corners) else view

    def painter(self, width: int, height: int, smooth: int = SMOOTH) -> Painter:
        """Return what draws smooth pictures of a size with shadows, one after the other; raises InvalidValueError."""
        check_size(width, height)
        return Painter(self._mirror, width, height, smooth)

    def _camera_settings(self, config: Mapping[str, Any] | CameraParams | None) -> Mapping[str, Any]:
        chosen = self._params.camera_config if config is None else config
        return vars(chosen) if isinstance(chosen, CameraParams) else chosen

    def _scene_bounds(self) -> tuple[Floats, Floats] | None:
        return scene_bounds(self._world) if len(self._world) else None

    # ---- the window --------------------------------------------------------------------------------------------------

    def configure(self, /, **settings: bool) -> None:
        """Apply the settings of the window: shadows, panels, collision shapes, transparent static bodies.

        `settings` are `enable_shadows`, `enable_gui_panel`, `enable_collision_shapes` and
        `enable_structure_transparency`; those not given are as in `params`. Raises ConfigError.
        """
        chosen = {name: getattr(self._params, name) for name in VISUALIZER_DEFAULTS}
        self._visualizer.configure({**chosen, **settings}, self._structures())

    def prepare(self) -> None:
        """Before the first step, if there is a window: set the camera and structures for the present world."""
        if self._prepared or not self._params.gui:
            return
        self._prepared = True
        self._visualizer.set_structures(self._structures())
        # A camera that the user placed stays where it is.
        if not self._camera_placed:
            self.setup_camera()

    def draw(self, shown: bool) -> None:
        """Switch drawing of the window on or off; without a window it has no effect."""
        client = self._mirror.client
        if client.gui:
            client.configureDebugVisualizer(client.COV_ENABLE_RENDERING, int(shown))

    def quiet(self) -> AbstractContextManager[None]:
        """Spawn many entities with drawing of the window suspended until the end of the block."""
        return self._mirror.client.quiet()

    def show_collisions(self) -> None:
        """Color bodies while they collide, if the settings enable it; else give back the colors of colored ones."""
        if self._params.enable_collision_color_change:
            self.highlight.show(np.unique(self._sim.collisions.pairs).tolist())
        elif self.highlight.shown:
            self.highlight.show([])

    @property
    def is_open(self) -> bool:
        """Whether the window is open."""
        return self._gui.open

    def poll_keys(self) -> list[str]:
        """Return the actions whose keys were pressed since the last poll."""
        return self._gui.poll()

    def apply_key(self, action: str) -> None:
        """Execute an action that changes the view."""
        self._visualizer.set_structures(self._structures())
        self._gui.apply(action)

    def _structures(self) -> Rows:
        """Return the rows of static entities."""
        world = self._world
        static: Rows = world.rows[world.collision_mode[world.rows] == CollisionMode.STATIC.code]
        return static


# Figures of a run: for users, twice per second of real time, and for programs, of the last step.


log = logging.getLogger(__name__)
# A separate logger: a setting enables these lines, independent of the level of other loggers.
profile_log = logging.getLogger("fleet_sim.profile")
profile_log.setLevel(logging.INFO)


class Monitor:
    """Shows figures of the run between steps, and reports the times of the last step."""

    def __init__(self, sim: SimulationParts) -> None:
        self._sim, self._params, self._world = sim, sim.params, sim.world
        self._output: MonitorOutput | None = None
        self._meter: RunMeter | None = None

    # ---- for people --------------------------------------------------------------------------------------------------

    @property
    def is_shown(self) -> bool:
        """Whether figures are shown somewhere."""
        return self._output is not None

    def setup(self, output: MonitorOutput | None = None) -> MonitorOutput | None:
        """Show figures of the run in `output` from now on, and return it.

        Without `output`, a DataMonitor window is used if `params` enable it (`monitor`, `enable_monitor_gui` and `gui`)
        and it can be opened; `run_simulation` does this automatically. Returns None if there is no output.
        """
        if output is None:
            output = self._open_window()
        # The one shown so far ends, also where the new one is the same.
        self.close()
        self._output, self._meter = output, RunMeter(self._world.clock.tick, self._world.clock.time)
        return output

    def _open_window(self) -> MonitorOutput | None:
        """Return the window of the monitor; None where none is asked for, or none can be shown, which is logged."""
        params = self._params
        if not (params.monitor and params.enable_monitor_gui and params.gui):
            return None
        hindrance = window_hindrance()
        if hindrance:
            log.warning("the monitor is not shown: %s", hindrance)
            return None
        window = DataMonitor(
            width=params.monitor_width, height=params.monitor_height, x=params.monitor_x, y=params.monitor_y
        )
        window.start()
        return window

    def update(self) -> None:
        """Show the present figures, if there is a monitor; `run_simulation` does this automatically."""
        # An output that was closed by its user returns False.
        if self._output is not None and not self._output.show(self.figures()):
            self.close()

    def update_if_due(self) -> None:
        """Show figures when they are due."""
        if self._output is not None and self._meter is not None and self._meter.due():
            self.update()

    def close(self) -> None:
        """Close the monitor."""
        # Forgotten before it is closed, as closing may ask for figures.
        output, self._output = self._output, None
        if output is not None:
            output.close()

    def figures(self) -> MonitorFigures:
        """Return the present figures; rates are averages since the previous call."""
        clock, world = self._world.clock, self._world
        # Rates need a first look; without a monitor this call is it.
        if self._meter is None:
            self._meter = RunMeter(clock.tick, clock.time)
        rates = self._meter.rates(clock.tick, clock.time)
        totals = self._sim.profiler.totals
        agents = world.rows[world.kind[world.rows] == KIND_AGENT]
        return MonitorFigures(
            sim_time=clock.time,
            steps=clock.tick,
            timestep=clock.dt,
            target_rtf=self._params.target_rtf,
            # The profiler counts in ms.
            step_time=0.001 * float(np.mean(totals)) if totals else 0.0,
            agents=len(agents),
            objects=len(world) - len(agents),
            moving=int(drive.moving_mask(world, agents).sum()),
            collisions=len(self._sim.collisions.pairs),
            collision_count=self._sim.collisions.count,
            physics=self._params.physics,
            paused=self._sim.control.is_paused,
            **rates,
        )

    # ---- for programs ------------------------------------------------------------------------------------------------

    def profile(self) -> dict[str, Any]:
        """Return the times of the last step in ms: documented keys, `systems`, `collision_breakdown`, own entries."""
        self._sim.profiler.collision_breakdown = self._sim.collisions.breakdown
        return self._sim.profiler.stats()

    def memory(self) -> dict[str, float]:
        """Return the process's peak memory (nan if the platform does not report it) and the columns' size, in MB."""
        # By identity: some tables are known under two names.
        tables = {id(table): table for table in self._world.tables.values()}
        return {"peak_rss_mb": _peak_memory(), "columns_mb": sum(table.nbytes for table in tables.values()) / 1024.0**2}

    def log_profile(self) -> None:
        """Log the profile and memory use, in the steps selected by the settings."""
        params = self._params
        # The step under way is counted when it ends.
        step = self._world.clock.tick + 1
        if step % params.profiling_interval == 0:
            if params.enable_time_profiling:
                profile_log.info("step %d: %s", step, self._sim.profiler.summary())
            if params.enable_memory_profiling:
                usage = ", ".join(f"{name} {value:.1f}" for name, value in self.memory().items())
                profile_log.info("step %d: %s", step, usage)


def _peak_memory() -> float:
    """Return the most memory this process has held so far, in MB; nan where the platform does not tell."""
    try:
        import resource
    except ImportError:
        # Windows has no such module, and the rest of the library does without.
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024.0**2 if sys.platform == "darwin" else 1024.0)
