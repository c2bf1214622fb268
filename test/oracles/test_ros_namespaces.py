"""Simulations in namespaces of their own: what is apart, and what they share; which entities requests mean."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rigid
from oracle_rows import holds

pytest.importorskip("rclpy")

from geometry_msgs.msg import TwistStamped
from heard_node import heard_node
from ros_domain import use_own_domain

import fleet_sim as fs
from fleet_sim_msgs.action import MoveTo

use_own_domain()


@holds("api:RosParams.map_frame", fault="world/commands.py: the map in the namespace")
@pytest.mark.parametrize("frame", ["map", "left/map"])
def test_the_map_is_shared_unless_it_is_named(tmp_path: Path, frame: str) -> None:
    scenario: dict[str, Any] = {
        "simulation": {"gui": False, "timestep": 0.05},
        "robots": [{"name": "cart", "pose": [1.3, -0.4, 0.1, 0.7], "shape": {"shape_type": "sphere", "radius": 0.1}}],
        "ros": {"rates": {"clock": None, "tf": None, "fleet_states": None}, "groups": ["actions", "state", "commands"]}
        | {"cmd_vel_type": "twist_stamped"},
    }
    if frame != "map":
        scenario["ros"]["map_frame"] = frame
    with heard_node(tmp_path, scenario, "-r", "__ns:=/left") as heard:
        heard.step(3)
        own = [
            name
            for name in heard.kinds
            if name not in ("/tf", "/tf_static", "/diagnostics", "/rosout", "/parameter_events")
        ]
        assert own and all(name.startswith("/left/") for name in own)
        transforms = [
            one for topic in ("/tf", "/tf_static") for message in heard.heard[topic] for one in message.transforms
        ]
        assert {(one.header.frame_id, one.child_frame_id) for one in transforms} == {
            (frame, "left/cart/odom"),
            ("left/cart/odom", "left/cart/base_link"),
        }
        assert heard.heard["/left/fleet/states"][-1].header.frame_id == frame
        # A velocity is in the frame of its robot, whoever names that; in no other one does it move anything.
        publisher = heard.listener.create_publisher(TwistStamped, "/left/cart/cmd_vel", 10)
        heard.until(publisher.get_subscription_count)
        command, cart = TwistStamped(), heard.sim.get_object("cart")
        command.twist.linear.x = 0.3
        for own, moves in ((frame, False), ("left/cart/odom", False), ("left/cart/base_link", True), ("", True)):
            command.header.frame_id = own
            before = cart.get_pose()
            publisher.publish(command)
            heard.step(12)
            assert (cart.get_pose() != before) is moves, own
            cart.stop()
        goal = MoveTo.Goal()
        goal.pose.header.frame_id = frame
        goal.pose.pose.position.x, goal.pose.pose.position.y, goal.pose.pose.position.z = 1.5, -0.6, 0.1
        assert heard.send_goal(MoveTo, "/left/cart/move_to", goal).result.success
        assert heard.sim.get_object("cart").position == pytest.approx([1.5, -0.6, 0.1])


@holds(
    "ros:simulation_interfaces/GetEntities.entities", "ros:simulation_interfaces/GetEntityBounds.bounds",
    fault="ros/simulation_answers.py: the upper corner of bounds is taken as the lower one",
)  # fmt: skip
def test_requests_mean_the_entities_that_pass_their_filters() -> None:
    messages: Any = pytest.importorskip("simulation_interfaces.msg")
    geometry: Any = pytest.importorskip("geometry_msgs.msg")
    from fleet_sim.ros.simulation_answers import EntityInfos, bounds_of, matching

    rng, sim = np.random.default_rng(6), fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0))
    infos, known = EntityInfos(sim.world), {}
    kinds = messages.EntityCategory
    for index in range(40):
        half, angles = rng.uniform(0.1, 0.5, 3), rng.uniform(-3.0, 3.0, 3)
        pose, shape = (
            fs.Pose.from_euler(*rng.uniform(-2.0, 2.0, 3), *angles),
            fs.ShapeParams("box", half_extents=tuple(half)),
        )
        robot = index % 4 == 1
        spawn = fs.AgentSpawnParams if robot else fs.SimObjectSpawnParams
        thing = sim.spawn(spawn(shape, shape, pose, name=f"{'bot' if robot else 'box'}_{index}"))
        tags = [tag for tag, step in (("two", 2), ("three", 3)) if index % step == 0]
        kind = kinds.CATEGORY_ROBOT if robot else kinds.CATEGORY_OBJECT
        if index % 5 == 0:
            kind = kinds.CATEGORY_HUMAN
        if tags or index % 5 == 0:
            infos.give(thing.row, messages.EntityInfo(category=kinds(category=kind), tags=tags))
        known[thing.name] = (rigid.frame_of(pose), half, set(tags), kind)
        told = bounds_of(sim.world, thing.row)
        assert told.type == messages.Bounds.TYPE_BOX
        assert [[point.x, point.y, point.z] for point in told.points] == pytest.approx(
            np.array([half, -half]), abs=1e-6
        )

    def near(bounds: tuple[int, Any, Any] | None, frame: np.ndarray, half: np.ndarray) -> bool:
        if bounds is None:
            return True
        kind, first, second = bounds
        if kind == messages.Bounds.TYPE_SPHERE:
            local = frame[:3, :3].T @ (np.array(first) - frame[:3, 3])
            return bool(np.linalg.norm(np.maximum(np.abs(local) - half, 0.0)) <= second[0])
        reach = np.abs(frame[:3, :3]) @ half
        low, high = np.minimum(first, second), np.maximum(first, second)
        return bool((frame[:3, 3] - reach <= high).all() and (frame[:3, 3] + reach >= low).all())

    box, ball = messages.Bounds.TYPE_BOX, messages.Bounds.TYPE_SPHERE
    regions = (None, (box, (0.9, 0.4, 1.1), (-0.7, -1.2, -0.3)), (box, (-0.7, 0.4, -0.3), (0.9, -1.2, 1.1)))
    for bounds in (*regions, (ball, (0.3, -0.4, 0.2), (1.3, 0.0, 0.0))):
        for pattern, tags, every, wanted in (
            ("", [], 0, []), ("bot", [], 0, []), ("_1", ["two", "three"], 0, []), ("", ["two", "three"], 1, []),
            ("", [], 0, [kinds.CATEGORY_HUMAN]), ("", [], 0, [kinds.CATEGORY_ROBOT]),
            ("", ["two"], 0, [kinds.CATEGORY_ROBOT, kinds.CATEGORY_HUMAN]),
        ):  # fmt: skip
            filters = messages.EntityFilters(filter=pattern, categories=[kinds(category=kind) for kind in wanted])
            filters.tags = messages.TagsFilter(tags=tags, filter_mode=every)
            if bounds is not None:
                points = [geometry.Vector3(x=x, y=y, z=z) for x, y, z in bounds[1:]]
                filters.bounds = messages.Bounds(type=bounds[0], points=points)
            passed = [
                name
                for name, (frame, half, own, kind) in known.items()
                if pattern in name
                and (not tags or (set(tags) <= own if every else bool(set(tags) & own)))
                and (not wanted or kind in wanted)
                and near(bounds, frame, half)
            ]
            assert matching(sim, infos, filters) == passed and len(passed) < 41
    row = sim.agents[0].row
    for tags, text, fits in ((100, 10_000, True), (101, 3, False), (3, 10_001, False)):
        info = messages.EntityInfo(
            category=kinds(category=kinds.CATEGORY_ROBOT), tags=["t"] * tags, description="d" * text
        )
        if fits:
            infos.give(row, info)
        else:
            with pytest.raises(fs.InvalidValueError, match="at most 100 tags"):
                infos.give(row, info)
    for points in ([(0.0, 0.0, 0.0)], [(0.0, math.nan, 0.0), (1.0, 1.0, 1.0)]):
        corners = [geometry.Vector3(x=x, y=y, z=z) for x, y, z in points]
        with pytest.raises(fs.InvalidValueError, match="two finite points"):
            matching(sim, infos, messages.EntityFilters(bounds=messages.Bounds(type=box, points=corners)))
    endless = fs.ShapeParams("plane")
    floor = sim.spawn(fs.SimObjectSpawnParams(endless, endless, pickable=False))
    assert bounds_of(sim.world, floor.row).type == messages.Bounds.TYPE_EMPTY
    sim.close()
