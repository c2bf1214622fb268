"""What is drawn over the bodies on request: paths, scans and names."""

from __future__ import annotations

import time

import numpy as np
import viser

from fleet_sim.arrays import Floats
from fleet_sim.core.paths_ahead import PathsAhead
from fleet_sim.sites.plan_colors import PATH_COLOR
from fleet_sim.viewer.web.source import ViewFrame

SCAN = (205, 30, 165)
"""Not red, which is for collisions."""
MOST_LINES = 20_000
MOST_NAMES = 100
LIFT = 0.03
"""Of paths above the floor, in m."""
PATH_PERIOD = 0.25
"""In s of real time, between two sendings of all lines but the first of each robot: somebody always turns a corner."""
NAME_LIFT = 0.5
"""Of names above the origins of robots, in m."""

_NONE: Floats = np.empty((0, 2, 3))


class _Lines:
    """A set of lines on the page, sent when it has changed."""

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        self._scene, self._name = scene, name
        self._handle: viser.LineSegmentsHandle | None = None

    def show(self, lines: Floats) -> None:
        """Show `lines` (L, 2, 3) a little above the floor."""
        if not len(lines):
            if self._handle is not None:
                self._handle.visible = False
            return
        lifted = np.asarray(lines, np.float32) + np.array((0.0, 0.0, LIFT), np.float32)
        if self._handle is None:
            self._handle = self._scene.add_line_segments(
                self._name, lifted, PATH_COLOR, thickness=1.5, thickness_units="screen"
            )
        # Sent by viser where it has changed.
        self._handle.points = lifted
        self._handle.visible = True


class Overlays:
    """Paths, scans and names; each is on the page only while it is asked for."""

    def __init__(self, scene: viser.SceneApi) -> None:
        self.paths = self.scans = self.names = False
        self._scene = scene
        self._moving, self._staying = _Lines(scene, "/paths/first"), _Lines(scene, "/paths/later")
        self._sent = 0.0
        self._points: viser.PointCloudHandle | None = None
        self._labels: dict[str, viser.LabelHandle] = {}

    def show(self, frame: ViewFrame) -> None:
        """Bring all of it up to date."""
        # While nothing moves, nothing else may be shown for long.
        self._show_paths(frame.paths, at_once=frame.status.paused)
        self._show_scans(frame.scans)
        self._show_names(frame)

    def _show_paths(self, paths: PathsAhead, *, at_once: bool) -> None:
        first_mask = np.diff(paths.robots, prepend=-1) != 0
        # What begins at a robot moves with it, the rest stays until somebody has passed a waypoint.
        self._moving.show(paths.lines[first_mask][:MOST_LINES] if self.paths else _NONE)
        now = time.monotonic()
        if at_once or not self.paths or now - self._sent > PATH_PERIOD:
            self._sent = now
            self._staying.show(paths.lines[~first_mask][:MOST_LINES] if self.paths else _NONE)

    def _show_scans(self, points: Floats) -> None:
        if not self.scans or not len(points):
            if self._points is not None:
                self._points.visible = False
            return
        if self._points is None:
            self._points = self._scene.add_point_cloud(
                "/scans", points.astype(np.float32), SCAN, point_size=0.05, point_shape="circle", precision="float32"
            )
        self._points.points = points.astype(np.float32)
        self._points.visible = True

    def _show_names(self, frame: ViewFrame) -> None:
        snapshot = frame.snapshot
        robots = np.flatnonzero(snapshot.agent_mask)[:MOST_NAMES].tolist() if self.names else []
        wanted = {snapshot.names[robot]: snapshot.positions[robot] for robot in robots}
        for name in self._labels.keys() - wanted.keys():
            self._labels.pop(name).remove()
        for name, position in wanted.items():
            at = position + np.array((0.0, 0.0, NAME_LIFT))
            label = self._labels.get(name)
            if label is None:
                # Names of robots may have slashes, which would make a tree of them.
                path = f"/names/{name.encode().hex()}"
                self._labels[name] = self._scene.add_label(path, name, position=at, anchor="bottom-center")
            else:
                label.position = at
