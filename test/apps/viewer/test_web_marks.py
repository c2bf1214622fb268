"""What marks the selected robot on a page of the live view, in a real browser."""

from __future__ import annotations

from io import BytesIO
from threading import Thread
from typing import Any

import numpy as np
import pytest
from chromium import Browser, Page, until
from view_pages import opened, pixel, select

from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, Pose, SetVelocity, ShapeParams, SimulationParams

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
            reach = 60 if size > 1.0 else 20
            until(lambda: ring(page, *pixel(view, 0.0, 0.0, 0.0), reach) > 60, "it is seen")  # noqa: B023  called at once
            assert page.errors == []
            page.close()


def middle(mask: Any) -> Any:
    """Return the middle of the pixels in a mask; no numbers where there are none."""
    return np.array(np.nonzero(mask)).mean(axis=1) if mask.any() else np.full(2, np.nan)


def apart(page: Page) -> Any:
    """Return how far the ring is from its robot, in pixels."""
    from PIL import Image

    red, green, blue = np.moveaxis(np.asarray(Image.open(BytesIO(page.picture())).convert("RGB"), int), 2, 0)
    ring = (red > 200) & (green > 1.5 * blue) & (red > 1.3 * green)
    robot = (green > 1.8 * red) & (blue > 1.8 * red) & (abs(green - blue) < 60) & (green > 90)
    # The page has messages of that color at its left.
    ring[:, :300] = robot[:, :300] = False
    return middle(ring) - middle(robot)


def test_the_ring_goes_with_its_robot_among_many(browser: Browser) -> None:
    with MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.05, target_rtf=1.0)) as sim:
        for number in range(100):
            rgba = (0.1, 0.3, 0.9, 1.0) if number else (0.1, 0.8, 0.9, 1.0)
            box = ShapeParams("box", half_extents=(0.3, 0.3, 0.02), rgba_color=rgba)
            x, y = (1.5 * (number % 10) - 7.0, 6.0 + 1.5 * (number // 10)) if number else (0.0, 0.0)
            sim.spawn(AgentSpawnParams(box, box, Pose.from_xyz(x, y, 0.02), name=f"robot_{number}"))
        thread = Thread(target=sim.run_simulation)
        thread.start()
        try:
            view: Any = sim.view.show(port=0)
            page = opened(browser, view)
            select(page, view, "robot_0", 0.0, 0.0, 0.1)
            until(lambda: np.isfinite(apart(page)).all(), "the ring is seen")
            standing = apart(page)
            meter = np.hypot(*np.subtract(pixel(view, 0.0, 1.0, 0.0), pixel(view, 0.0, 0.0, 0.0)))
            everybody = tuple(agent.name for agent in sim.agents)
            ahead, around = np.tile((0.8, 0.0, 0.0), (100, 1)), np.tile((0.0, 0.0, 0.4), (100, 1))
            sim.inbox.put(SetVelocity(names=everybody, linear=ahead, angular=around))
            until(lambda: "100 moving" in page.text(), "all move")
            # A picture may be taken between the two messages; not most of them.
            distances = [np.hypot(*(apart(page) - standing)) / meter for _ in range(7)]
            assert np.median(distances) < 0.15, distances
            assert page.errors == []
            page.close()
        finally:
            sim.stop()
            thread.join()
