"""Bins: what is in them, how it came to lie, and what is taken out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from example import load_example
from small_bins import small_bin

from fleet_sim import Pose
from fleet_sim.base.errors import ConfigError, InvalidValueError, MissingDependencyError, StateError
from fleet_sim.learning.manipulation import BaseBin, BinScene, FrankaArm, PickBin, load_bin_picking
from fleet_sim.learning.manipulation.bins import FAMILIES, LARGEST, SMALLEST, object_kind, object_kinds


def test_the_volume_of_a_bin_is_twice_its_height(scene: BinScene) -> None:
    made = scene.pick_bin
    assert made is not None
    x, y, _ = made.pose.position
    assert made.contains((x + 0.079, y - 0.079, 0.079))
    assert not made.contains((x, y, 0.081))
    assert not made.contains((x + 0.081, y, 0.01))
    assert not made.contains((x, y, -0.001))


def test_the_same_stream_fills_the_bin_in_the_same_way(scene: BinScene) -> None:
    made = scene.pick_bin
    assert made is not None
    found = []
    for _ in range(2):
        scene.reset(rng=np.random.default_rng(5))
        rows = [thing.row for thing in made.objects]
        found.append(scene.sim.world.position[rows])
        assert made.contains_mask(found[-1]).all()
    np.testing.assert_array_equal(*found)


def test_things_begin_to_fall_in_layers(scene: BinScene) -> None:
    assert scene.pick_bin is not None
    coordinates = scene.pick_bin.get_list_object_coords(30)
    assert scene.pick_bin.contains(coordinates[0])
    places = scene.pick_bin.to_bin(np.array(coordinates))
    pitch = 0.035
    assert np.unique(np.round(np.diff(np.unique(places[:, 2])) / pitch)) == pytest.approx([1.0])
    assert np.abs(places[:, :2]).max() < 0.08 - 0.5 * LARGEST


def test_what_left_the_bins_is_removed(scene: BinScene) -> None:
    assert scene.pick_bin is not None
    assert scene.drop_bin is not None
    first, second, *_ = scene.pick_bin.objects
    first.set_pose(Pose((2.0, 2.0, 0.1)))
    x, y, _ = scene.drop_bin.pose.position
    second.set_pose(Pose((x, y, 0.02)))
    assert scene.remove_objects_not_in_bins() == 1
    assert not first.is_alive
    assert second.is_alive
    assert scene.current_number_of_objects == 3
    assert not scene.arms[0].check_grab(second.body_id)
    scene.remove_single_object_from_bin(second.body_id)
    assert scene.current_number_of_objects == 2
    assert not second.is_alive
    scene.remove_single_object_from_bin(scene.pick_bin.objects[0].object_id)
    assert scene.current_number_of_objects == 1
    with pytest.raises(InvalidValueError, match="does not belong to this bin"):
        scene.remove_single_object_from_bin(second)


def test_kinds_are_small_solids_of_every_family_and_others_for_testing() -> None:
    training, testing = object_kinds("training"), object_kinds("testing")
    assert {kind.family for kind in training.values()} == set(FAMILIES) == {kind.family for kind in testing.values()}
    assert not set(training) & set(testing)
    for kind in [*training.values(), *testing.values()]:
        assert 0.0 < kind.mass < 0.05
        if kind.family == "box":
            assert SMALLEST <= 2 * min(kind.shape.half_extents) <= 2 * max(kind.shape.half_extents) <= LARGEST
    assert object_kind("sphere").family == "sphere"
    with pytest.raises(InvalidValueError, match="Did you mean 'sphere'"):
        object_kind("spher")


def test_settings_are_read_with_hyphens_and_refused_with_a_hint() -> None:
    config = load_bin_picking(
        {"arms": {"arm-1": {"joints": {f"joint-{index + 1}": 0.1 * index for index in range(12)}}}}
    )
    assert config.arms["arm_1"].joints[3] == pytest.approx(0.3)
    with pytest.raises(ConfigError, match="Did you mean 'fov'"):
        load_bin_picking({"camera": {"projection-matrix": {"fow": 30}}})
    for wrong in (range(1, 2), range(13), range(2, 14), (0, *range(2, 13))):
        joints = {f"joint-{number}": 0.0 for number in wrong}
        with pytest.raises(ConfigError, match="joint-1 to joint-12 or joint-0 to joint-11"):
            load_bin_picking({"arms": {"arm-1": {"joints": joints}}})
    with pytest.raises(ConfigError, match="given twice"):
        load_bin_picking({"scene": {"drop-bin-enable": True, "drop_bin_enable": False}})
    with pytest.raises(ConfigError, match="min_number_of_objects"):
        load_bin_picking({"scene": {"bin": {"objects": {"min-number-of-objects": 9, "max-number-of-objects": 3}}}})


def test_joints_may_be_numbered_from_zero_and_gravity_may_be_one_number() -> None:
    joints = {f"joint-{index}": 0.01 * index for index in range(12)}
    config = load_bin_picking({"simulation": {"gravity": -9.7}, "arms": {"arm-0": {"joints": joints}}})
    assert config.arms["arm_0"].joints == pytest.approx([0.01 * index for index in range(12)])
    assert config.simulation.gravity == (0.0, 0.0, -9.7)
    assert load_bin_picking({"simulation": {"gravity": [0, 1, -9]}}).simulation.gravity == (0.0, 1.0, -9.0)
    for wrong in ("down", [0, 0], [0, 0, float("nan")], True):
        with pytest.raises(ConfigError, match=r"simulation\.gravity"):
            load_bin_picking({"simulation": {"gravity": wrong}})
    scene = BinScene(config=small_bin(gravity=-3.0))
    assert scene.sim.bullet.getPhysicsEngineParameters()["gravityAccelerationZ"] == -3.0
    scene.sim.close()


def test_bins_are_made_from_mappings(scene: BinScene) -> None:
    before = scene.sim.bullet.getNumBodies()
    empty = BaseBin({"position": [2.0, 0.0, 0.0], "orientation": [0, 0, 90]}, scene.sim.bullet)
    assert empty.bin_origin == [2.0, 0.0, 0.0]
    assert empty.contains((2.0, 0.0, 0.02))
    objects = {"load-specific-object": True, "relative-path-to-object": "sphere", "max-number-of-objects": 5}
    picked = PickBin({"position": [2.0, 1.0, 0.0], "objects": objects}, scene.sim, True, 60, name="other")
    assert picked.ml_mode == "training"
    assert picked.path_to_current_object is None
    picked.reset(rng=np.random.default_rng(0))
    assert picked.path_to_current_object == "sphere_training_1"
    assert picked.number_of_objects == 5
    assert scene.sim.bullet.getNumBodies() == before + 7
    with pytest.raises(ConfigError, match=r"bin_config.*'position'"):
        BaseBin({"positon": [0, 0, 0]}, scene.sim)
    with pytest.raises(ConfigError, match="bin_config: expected PickBinSettings or a mapping"):
        PickBin(3, scene.sim, "training")  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="ml_mode"):
        PickBin({}, scene.sim, "validation")
    for thing in [*picked.objects, empty.handle, picked.handle]:
        assert thing is not None
        scene.sim.remove_object(thing)


@pytest.mark.slow
def test_fewer_things_than_asked_for_are_told_of_and_an_empty_bin_is_an_error(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    scene = BinScene(config=small_bin(objects=(70, 70), kind="box", fall=300))
    with caplog.at_level("WARNING", "fleet_sim.learning.manipulation"):
        for _ in range(2):
            scene.reset(rng=np.random.default_rng(1))
    assert scene.current_number_of_objects < 70
    assert [record.getMessage() for record in caplog.records if "min_number_of_objects" in record.message] == [
        f"of 70 objects of the kind 'box_training_1' only {scene.current_number_of_objects} stay in the bin: fewer "
        "than min_number_of_objects, 70"
    ]
    scene.sim.close()
    large = tmp_path / "large.obj"
    corners = [(x, y, z) for x in (-0.3, 0.3) for y in (-0.3, 0.3) for z in (-0.3, 0.3)]
    faces = ["1 2 4", "1 4 3", "5 7 8", "5 8 6", "1 5 6", "1 6 2", "3 4 8", "3 8 7", "1 3 7", "1 7 5", "2 6 8", "2 8 4"]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {face}" for face in faces]
    large.write_text("\n".join(lines))
    scene = BinScene(config=small_bin(objects=(2, 2), kind=str(large), fall=20))
    with pytest.raises(InvalidValueError, match="none of 2 objects of the kind"):
        scene.reset(rng=np.random.default_rng(1))
    scene.sim.close()


def test_a_scene_that_cannot_be_made_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_model(*args: object, **kwargs: object) -> FrankaArm:
        raise MissingDependencyError("no model")

    scene = BinScene(config=small_bin(objects=(1, 1)))
    try:
        with monkeypatch.context() as patched:
            patched.setattr("fleet_sim.learning.manipulation.scenes.FrankaArm", without_model)
            for _ in range(2):
                with pytest.raises(MissingDependencyError):
                    scene.reset()
                assert not scene.sim.sim_objects
        scene.reset()
        assert len(scene.arms) == 1
    finally:
        scene.sim.close()


# ---- heaps -----------------------------------------------------------------------------------------------------------


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
        scene.sim.add_sensor("camera", renderer="tiny", width=32, height=32).read()
    scene.sim.close()


# ---- The example of a scripted pick finds things by their depth and brings them to the other bin ---------------------


# With PyBullet's renderer the same seed is another run: its depths differ a little, and one thing may slip.
@pytest.mark.usefixtures("opengl")
def test_things_are_seen_where_they_are_and_brought_to_the_other_bin() -> None:
    example = load_example("scripted_pick")
    picker = example.Picker(example.settings(2, 2))
    picker.scene.reset(rng=np.random.default_rng(0))
    picker.leave()
    seen = example.seen_things(example.world_points(picker.camera), picker.pick_bin)
    places = sorted(thing.get_pose().position[:2] for thing in picker.pick_bin.objects)
    assert sorted(thing.centre.tolist() for thing in seen) == [
        pytest.approx(list(place), abs=0.003) for place in places
    ]
    # In a corner the fingers do not fit around a thing: it is drawn to the middle first.
    corner = np.array([[0.064, -0.064, 0.02]])
    picker.pick_bin.objects[0].set_pose(Pose(picker.pick_bin.to_world(corner)[0].tolist()))
    score = picker.empty()
    assert score.brought == score.successes == 2
    assert score.attempts <= 4
