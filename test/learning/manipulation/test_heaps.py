"""Heaps of things: nothing that happened before matters to them, and they sleep until something touches them."""

from __future__ import annotations

import numpy as np
import pytest
from small_bins import small_bin

from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.learning.manipulation import BinScene


def poses(scene: BinScene) -> bytes:
    assert scene.pick_bin is not None
    return b"".join(np.array(thing.get_pose().position).tobytes() for thing in scene.pick_bin.objects)


def play(scene: BinScene, seed: int) -> list[bytes]:
    """Reach into the bin, and record where everything is meanwhile."""
    scene.reset(False, np.random.default_rng(seed))
    record = [poses(scene)]
    for _ in range(4):
        scene.arms[0].apply_action_delta([0.002, 0.003, -0.1, 0.1, 1.0])
        record.append(poses(scene) + scene.arms[0].agent.joint_positions.tobytes())
    return record


def test_what_was_taken_before_does_not_matter_to_a_reset() -> None:
    scene = BinScene(None, small_bin(objects=(6, 8), fall=120))
    expected = play(scene, 3)
    assert scene.pick_bin is not None
    for index in (4, 1, 2):
        scene.remove_single_object_from_bin(scene.pick_bin.objects[index])
    assert play(scene, 3) == expected
    scene.sim.close()


@pytest.mark.parametrize(("kind", "count"), [("box", 8), ("cylinder", 24), ("convex_training_1", 16)])
def test_things_sleep_until_one_is_taken_from_among_them(kind: str, count: int) -> None:
    scene = BinScene(None, small_bin(objects=(count, count), kind=kind, fall=120))
    scene.reset(False, np.random.default_rng(0))
    assert scene.pick_bin is not None
    scene.sim.step_once()
    before = poses(scene)
    for _ in range(10):
        scene.sim.step_once()
    assert poses(scene) == before
    lowest = min(scene.pick_bin.objects, key=lambda thing: thing.get_pose().z)
    remaining = scene.current_number_of_objects - 1
    scene.remove_single_object_from_bin(lowest)
    assert scene.current_number_of_objects == remaining
    before = poses(scene)
    for _ in range(10):
        scene.sim.step_once()
    assert poses(scene) != before
    with pytest.raises(InvalidValueError, match="does not belong to this bin"):
        scene.remove_single_object_from_bin(-5)
    scene.sim.close()


def test_the_gripper_wakes_what_it_touches() -> None:
    scene = BinScene(None, small_bin(objects=(8, 8), fall=120))
    scene.reset(False, np.random.default_rng(0))
    assert scene.pick_bin is not None
    arm, thing = scene.arms[0], scene.pick_bin.objects[-1]
    scene.sim.step_once()
    before = np.array(thing.get_pose().position)
    for _ in range(3):
        above = np.array(thing.get_pose().position) - arm.get_gripper_state()[0]
        arm.apply_action_delta([*above.tolist(), 0.0, 1.0])
    arm.close_gripper()
    arm.apply_action_delta([0.03, 0.0, 0.0, 0.0, -1.0])
    assert np.abs(np.array(thing.get_pose().position) - before).max() > 0.005
    scene.sim.close()


@pytest.mark.usefixtures("opengl")
def test_the_engine_cannot_draw_what_was_made_without_looks() -> None:
    scene = BinScene(None, small_bin(objects=(1, 1), fall=5))
    scene.reset(False, np.random.default_rng(0))
    with pytest.raises(StateError, match="engine_visuals"):
        scene.sim.take_picture(32, 32)
    scene.sim.close()
