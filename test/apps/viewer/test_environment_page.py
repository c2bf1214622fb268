"""The page of an environment: it begins where the robots are, and can only watch."""

from __future__ import annotations

import pytest

pytest.importorskip("viser")
pytest.importorskip("gymnasium")
from page_client import PageClient

from fleet_sim.learning.envs import NavigationEnv

pytestmark = pytest.mark.filterwarnings("ignore:Queued a .* on a closed connection:UserWarning")


def test_a_page_of_an_environment_begins_above_its_robots_and_watches(capsys: pytest.CaptureFixture[str]) -> None:
    env = NavigationEnv(num_robots=2, num_obstacles=1, render_mode="human")
    try:
        env.reset(seed=1)
        url = capsys.readouterr().out.removeprefix("view: ").strip()
        with PageClient(url) as page:
            page.read_until(lambda: {"colors", "Deselect"} <= page.controls.keys() and bool(page.first_eye))
            assert not {"Pause", "Step", "speed", "Reset", "Stop", "Remove"} & page.controls.keys()
            # Robots out of the way are 50 m below the floor.
            assert page.first_eye[2] > 0.0
    finally:
        env.close()
