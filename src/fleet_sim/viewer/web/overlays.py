"""What is drawn over the bodies on request: paths, scans and names."""

from __future__ import annotations

import numpy as np
import viser

from fleet_sim.arrays import Floats
from fleet_sim.viewer.web.source import ViewFrame

PATH, SCAN = (128, 172, 232), (222, 42, 42)
MOST_LINES = 20_000
MOST_NAMES = 100
LIFT = 0.03
"""Of paths above the floor, in m."""
NAME_LIFT = 0.5
"""Of names above the origins of robots, in m."""


class Overlays:
    """Paths, scans and names; each is on the page only while it is asked for."""

    def __init__(self, scene: viser.SceneApi) -> None:
        self.paths = self.scans = self.names = False
        self._scene = scene
        self._lines: viser.LineSegmentsHandle | None = None
        self._points: viser.PointCloudHandle | None = None
        self._labels: dict[str, viser.LabelHandle] = {}

    def show(self, frame: ViewFrame) -> None:
        """Bring all of it up to date."""
        self._show_paths(frame.paths.lines[:MOST_LINES])
        self._show_scans(frame.scans)
        self._show_names(frame)

    def _show_paths(self, lines: Floats) -> None:
        if not self.paths or not len(lines):
            if self._lines is not None:
                self._lines.visible = False
            return
        lifted = np.asarray(lines, np.float32) + np.array((0.0, 0.0, LIFT), np.float32)
        if self._lines is None:
            self._lines = self._scene.add_line_segments("/paths", lifted, PATH, thickness=1.5, thickness_units="screen")
        self._lines.points = lifted
        self._lines.visible = True

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
