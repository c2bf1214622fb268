"""What marks the selected robot on a page of the live view, in a real browser."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest
from chromium import Browser, Page, until
from view_pages import opened, pixel, select

from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimulationParams

pytest.importorskip("viser")
pytestmark = pytest.mark.slow


def test_a_ring_is_seen_around_a_large_robot_and_from_far_away(browser: Browser) -> None:
    from PIL import Image

    def ring(page: Page, x: float, y: float, reach: int) -> int:
        """Return how many pixels of its color are around a pixel."""
        picture = np.asarray(Image.open(BytesIO(page.picture())).convert("RGB"), int)
        red, green, blue = picture[round(y) - reach : round(y) + reach, round(x) - reach : round(x) + reach].T
        return int(((red > 200) & (green > 1.5 * blue) & (red > 1.3 * green)).sum())

    for size, distance in ((2.0, 20.0), (0.3, 60.0)):
        with MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, target_rtf=0.0)) as sim:
            for name, x in (("seen", 0.0), ("other", -distance)):
                box = ShapeParams("box", half_extents=(size, 0.5 * size, 0.5 * size), rgba_color=(0.1, 0.3, 0.9, 1.0))
                sim.spawn(AgentSpawnParams(box, box, Pose.from_xyz(x, 0.0, 0.5 * size), name=name))
            view: Any = sim.view.show(port=0)
            page = opened(browser, view)
            select(page, view, "seen", 0.0, 0.0, size)
            place, reach = pixel(view, 0.0, 0.0, 0.0), 60 if size > 1.0 else 20
            until(lambda: ring(page, *place, reach) > 60, "it is seen")  # noqa: B023  called at once
            assert page.errors == []
            page.close()
