"""Films of runs and of recordings: what is seen at each moment, and by which camera.

Moments come from a simulation that runs, or from a recording. A camera is a function of the simulation and of the time
of the film.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fleet_sim.arrays import Floats
from fleet_sim.bullet.camera_view import CameraView
from fleet_sim.core.paths_ahead import PathsAhead, paths_ahead, recorded_paths_ahead
from fleet_sim.errors import InvalidValueError
from fleet_sim.record.film_file import FilmFile
from fleet_sim.record.film_marks import marks_of_paths, marks_of_plans
from fleet_sim.record.playback_world import PlaybackWorld
from fleet_sim.record.recording import Recording
from fleet_sim.sensors.render.flat_marks import FlatMarks, joined
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.floor_plan import floor_plans_of

SMOOTH = 2
"""Pictures are drawn larger by this factor and averaged."""
ORBIT = 12.0
"""Of an orbiting camera, in degrees per second of the film."""
FOLLOW_PITCH, FOLLOW_DISTANCE = -28.0, 9.0
"""Of a camera that follows a robot: degrees, and times the robot's size."""
LEAST_DISTANCE = 3.0
"""In m."""
MOST_PICTURES = 1_000_000
"""Of a film: nine hours."""


class Moment(NamedTuple):
    """A simulation that shows a moment, what is on its floors, and the paths ahead, where they are to be seen."""

    sim: MultiRobotSimulationCore
    floor: FlatMarks
    paths: PathsAhead = PathsAhead()


Aim = Callable[[MultiRobotSimulationCore, float], CameraView]
"""Returns the view of a simulation at a time of the film in s."""


def moments_of_run(sim: MultiRobotSimulationCore, times: list[float], *, paths: bool = False) -> Iterator[Moment]:
    """Run `sim` from time to time; `paths` says whether paths ahead are shown."""
    floor = marks_of_plans(floor_plans_of(sim))
    for time in times:
        # By ticks: sums of time steps are off by rounding.
        while sim.clock.tick < sim.clock.ticks(time):
            sim.step_once()
        yield Moment(sim, floor, paths_ahead(sim.world) if paths else PathsAhead())


def moments_of_recording(recording: Recording, times: list[float], *, paths: bool = False) -> Iterator[Moment]:
    """Show what was recorded; between two samples everything goes on a straight line."""
    floor = marks_of_plans(recording.floor_plans)
    with PlaybackWorld(recording) as stage:
        for time in times:
            sim = stage.show(time)
            yield Moment(sim, floor, recorded_paths_ahead(recording.snapshot_at(time)) if paths else PathsAhead())


def times_of(start: float, seconds: float, speed: float, fps: float) -> list[float]:
    """Return the simulated times in s of the pictures of a film, `seconds` of simulated time long.

    Raises InvalidValueError for a film of more than MOST_PICTURES.
    """
    pictures = seconds / speed * fps
    if pictures > MOST_PICTURES:
        raise InvalidValueError(f"the film would have {pictures:.3g} pictures, of {MOST_PICTURES:,} at most")
    # A picture at the beginning, also of a film of no length.
    count = max(int(pictures + 1e-9), 1)
    return [start + number * speed / fps for number in range(count)]


def aim_of(camera: str, width: int, height: int, places: Floats | None = None) -> Aim:
    """Return the camera called `camera`: auto, top, side, orbit or follow:<robot>; raises InvalidValueError.

    Those that stand still frame `places` (K, 3), besides all bodies.
    """
    if camera == "auto":
        return _standing(width, height, places)
    if camera in ("top", "side"):
        return _standing(width, height, places, "top_down" if camera == "top" else "perspective")
    if camera == "orbit":
        still = _standing(width, height, places, "perspective", all_around=True)
        return lambda sim, now: _turned(still(sim, now), ORBIT * now)
    kind, colon, name = camera.partition(":")
    if kind == "follow" and colon and name:
        return lambda sim, now: _following(sim, name)
    raise InvalidValueError(f"camera: expected auto, top, side, orbit or follow:<robot>, got {camera!r}")


def _standing(width: int, height: int, places: Floats | None, view_type: str = "", *, all_around: bool = False) -> Aim:
    """Return a camera that frames what is there at the first picture, and stays: a moving frame makes seasick.

    It frames `places` (K, 3) too, and with `all_around` also when it is turned. Without a `view_type` it is that of the
    scenario.
    """
    kept: list[CameraView] = []

    def aim(sim: MultiRobotSimulationCore, now: float) -> CameraView:
        if not kept:
            given = {"camera_mode": "auto", "camera_view_type": view_type} if view_type else None
            kept.append(sim.view.framed(width, height, given, places, all_around=all_around))
        return kept[0]

    return aim


def _turned(view: CameraView, degrees: float) -> CameraView:
    return replace(view, yaw=(view.yaw + degrees) % 360.0)


def _following(sim: MultiRobotSimulationCore, name: str) -> CameraView:
    entity = sim.get_object(name)
    lower, upper = sim.get_aabbs()[entity.object_id]
    # So far away that a robot of any size fills as much of the picture.
    distance = max(FOLLOW_DISTANCE * math.dist(lower, upper), LEAST_DISTANCE)
    x, y, z = (0.5 * (low + high) for low, high in zip(lower, upper, strict=True))
    return CameraView(distance, 30.0, FOLLOW_PITCH, (float(x), float(y), float(z)))


def film(
    moments: Iterator[Moment],
    count: int,
    path: str | Path,
    camera: str | Aim,
    size: tuple[int, int],
    fps: float,
    progress: Callable[[int, int], object] = lambda done, count: None,
) -> None:
    """Write a film of `count` moments, seen by a camera that `aim_of` knows or by one's own.

    `progress(done, count)` is called after each picture. Raises InvalidValueError for a camera, a size or a file that
    cannot be; UnknownNameError for a robot that is not.
    """
    width, height = size
    # Before the file is begun, as there may be no such camera.
    aim = aim_of(camera, width, height) if isinstance(camera, str) else camera
    with FilmFile(path, width, height, fps) as file:
        painter, shown = None, None
        try:
            for number, (sim, floor, paths) in enumerate(moments):
                # Another simulation shows it once something was spawned in a recording.
                if painter is None or shown is not sim:
                    if painter is not None:
                        painter.close()
                    painter, shown = sim.view.painter(width, height, SMOOTH), sim
                if number == 0 and isinstance(camera, str):
                    aim = aim_of(camera, width, height, floor.positions)
                view = aim(sim, number / fps)
                file.add(painter.draw(view, joined([floor, marks_of_paths(paths, view.distance)])))
                progress(number + 1, count)
        finally:
            if painter is not None:
                painter.close()
