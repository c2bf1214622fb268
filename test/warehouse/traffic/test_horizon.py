"""Where no window is set, plans reach as far as robots drive until the next one."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from crowds import Crowd
from networks import site_of

from fleet_sim.base.arrays import Ints
from fleet_sim.warehouse.traffic import Problem
from fleet_sim.warehouse.traffic.planners.pibt import Pibt
from fleet_sim.warehouse.traffic.planners.planner import Planner


class Asked(Pibt):
    """Remembers the windows that it is asked for."""

    windows: ClassVar[list[int]] = []

    def plan(self, problem: Problem) -> Ints:
        self.windows.append(problem.window)
        return super().plan(problem)


class AskedAsAny(Asked):
    """The same with the horizon of planners that say nothing about it."""

    window_for = Planner.window_for


@pytest.mark.parametrize(
    ("speed", "period", "settings", "pibt", "others"),
    [
        # Two cells in a second and one to stop, on cells of 1 m.
        (2.0, 1.0, {}, 5, 10),
        (4.0, 3.0, {}, 18, 18),
        (0.5, 0.5, {}, 4, 10),
        (2.0, 1.0, {"policy": "on_demand"}, 10, 10),
        (2.0, 1.0, {"window": 7}, 7, 7),
    ],
)
def test_the_window_follows_from_speed_and_period(
    speed: float, period: float, settings: dict[str, Any], pibt: int, others: int
) -> None:
    for planner, expected in ((Asked, pibt), (AskedAsAny, others)):
        name = f"{__name__}:{planner.__name__}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(planner, "windows", [])
            crowd = Crowd(
                site_of("......\n......"), 3, robots={"max_linear_vel": speed}, planner=name, period=period, **settings
            )
            crowd.roam()
            crowd.run(2.0 * period + 0.2)
            # The first one is that which loads machine code.
            assert set(planner.windows[1:]) == {expected}
