"""Settings of sites, pictures of swarms and bin picking, each changed: something else comes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_bins import small_bin

from fleet_sim.base.settings.fields import fields_of
from fleet_sim.learning.manipulation import BinScene
from fleet_sim.learning.manipulation.config import load_bin_picking
from fleet_sim.learning.manipulation.scenes import picking_params
from fleet_sim.swarm import RectangularWorld
from fleet_sim.swarm.pictures import draw_world, picture
from fleet_sim.warehouse.sites.generate import SortationFloor, Warehouse


@pytest.mark.parametrize("cls", [Warehouse, SortationFloor])
def test_settings_of_generated_sites(cls: Any) -> None:
    usual = cls().site()
    for name in fields_of(cls):
        value = getattr(cls(), name)
        site = cls(**{name: 2 * value}).site()
        same_grid = np.array_equal(site.grid.free_mask, usual.grid.free_mask) and site.grid.cell == usual.grid.cell
        assert not same_grid or len(site.stations) != len(usual.stations), name


PICTURED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "body_filled": ({}, {"body_filled": False}),
    "body_color": ({}, {"body_color": [255, 0, 0]}),
    "trace_color": ({"trace_length": 20}, {"trace_length": 20, "trace_color": [255, 0, 0]}),
    "trace_length": ({}, {"trace_length": 20}),
}


def drawn(agent: dict[str, Any], **world: Any) -> bytes:
    controller = {"type": "StaticController", "output": [0.5, 0.2]}
    moving = {"type": "MazeAgent", "position": [1, 1], "agent_radius": 0.3, "controller": controller}
    made = RectangularWorld({"size": [4, 4], "time_step": 0.1, "agents": [{**moving, **agent}], **world})
    made.setup()
    made.evaluate(10)
    canvas = picture(made, 120)
    draw_world(made, canvas)
    return np.asarray(canvas.image).tobytes()


@pytest.mark.parametrize("name", PICTURED)
def test_settings_of_pictures_of_agents(name: str) -> None:
    usual, changed = PICTURED[name]
    assert drawn(changed) != drawn(usual)


def test_settings_of_pictures_of_worlds() -> None:
    assert drawn({}, show_walls=False) != drawn({})
    assert drawn({}, background_color=[1, 2, 3]) != drawn({})


ENGINE: dict[str, Any] = {
    "number-of-sub-steps": 9,
    "number-of-solver-iterations": 7,
    "contact-erp": 0.7,
    "enable-windows": True,
    "sim-mode": "gpu-gui",
    "timestep": 0.02,
    "gravity": -1.0,
}


@pytest.mark.parametrize("name", ENGINE)
def test_settings_of_the_engine_of_bin_picking(name: str) -> None:
    usual, changed = (picking_params(load_bin_picking({"simulation": given})) for given in ({}, {name: ENGINE[name]}))
    assert changed != usual


def lying(steps: int, **objects: Any) -> tuple[Any, Any]:
    """Return where things lie after a reset, and after more steps."""
    config = small_bin(objects=(4, 4))
    config["scene"]["bin"]["objects"].update(objects.pop("bin", {}))
    config["simulation"].update(objects)
    scene = BinScene(config=config)
    scene.reset(rng=np.random.default_rng(1))
    places = [[thing.get_pose().position for thing in scene.pick_bin.objects]]
    for _ in range(steps):
        scene.sim.step_once()
    places.append([thing.get_pose().position for thing in scene.pick_bin.objects])
    scene.sim.close()
    return places[0], places[1]


def test_settings_of_what_lies_in_a_bin() -> None:
    usual, later = lying(20, **{"objects-sleep": False})
    assert lying(0, bin={"heaps-per-kind": 1}, **{"objects-sleep": False})[0] != usual
    asleep, still = lying(20, **{"objects-sleep": True})
    assert np.allclose(still, asleep, atol=1e-6) and np.allclose(asleep, usual, atol=1e-6)
    assert np.abs(np.array(later) - usual).max() > 10 * np.abs(np.array(still) - asleep).max()


def test_the_workspace_of_an_arm_counts() -> None:
    ends = []
    for clips in (True, False):
        scene = BinScene(config=small_bin(arms={"arm-1": {"clip-delta-actions-to-workspace": clips}}))
        scene.reset(rng=np.random.default_rng(1))
        scene.arms[0].apply_action_delta([0.0, 0.3, 0.0, 0.0, 1.0])
        ends.append(scene.arms[0].get_gripper_state()[0].tolist())
        scene.sim.close()
    assert abs(ends[0][1] - ends[1][1]) > 0.02
