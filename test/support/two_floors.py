"""A building of two floors with two lifts, robots on both, and orders from any station to any other, as a scenario."""

from __future__ import annotations

from typing import Any

import numpy as np

RADIUS, HEIGHT = 0.3, 0.3
FLOOR = 4.0
"""Height of the upper floor in m."""


def building(width: int, depth: int) -> dict[str, Any]:
    """Return two equal floors of `width` x `depth` cells of 1 m, stations in two rows, and lifts at the upper wall.

    Middles of cells are at 0.4 m, as the map is drawn from 0.1 m before the walls.
    """
    corners = [(0, 0), (width - 0.1, 0), (width - 0.1, depth - 0.1), (0, depth - 0.1)]
    lifts = {f"lift_{i}": (round(width * share) + 0.4, depth - 1.6) for i, share in enumerate((0.3, 0.7))}
    levels = {}
    for name, height in (("L1", 0.0), ("L2", FLOOR)):
        vertices: list[list[Any]] = [[x, y, 0, ""] for x, y in corners]
        for number, x in enumerate(range(2, width - 2, 3)):
            for kind, key, y in (("pick", "pickup_dispenser", 2), ("drop", "dropoff_ingestor", depth // 2)):
                vertices.append([x + 0.4, y + 0.4, 0, f"{name}_{kind}{number}", {key: [1, "cell"]}])
        vertices += [[x, y, 0, f"{lift}_{name}", {"lift_cabin": [1, lift]}] for lift, (x, y) in lifts.items()]
        levels[name] = {
            "elevation": height,
            "vertices": vertices,
            "floors": [{"vertices": [0, 1, 2, 3]}],
            "walls": [[0, 1, {}], [1, 2, {}], [2, 3, {}], [3, 0, {}]],
            **{empty: [] for empty in ("lanes", "doors", "models")},
        }
    door = {"x": 0.0, "y": -1.0, "width": 1.4, "motion_axis_orientation": 0.0, "door_type": 2}
    made = {
        lift: {
            **{"x": x, "y": y, "yaw": 0.0, "width": 2.0, "depth": 2.0, "plugins": True, "doors": {"front": door}},
            **{"initial_floor_name": "L1", "lowest_floor": "L1", "highest_floor": "L2", "reference_floor_name": "L1"},
            "level_doors": {"L1": ["front"], "L2": ["front"]},
        }
        for lift, (x, y) in lifts.items()
    }
    return {"name": "two", "coordinate_system": "cartesian_meters", "levels": levels, "lifts": made}


def scenario(width: int, depth: int, robots: int, orders: int, seconds: float, seed: int = 1) -> dict[str, Any]:
    """Return the scenario: `robots` on both floors in turns, and `orders` released within `seconds`, by chance."""
    random, content = np.random.default_rng(seed), building(width, depth)
    names = [vertex[3] for level in content["levels"].values() for vertex in level["vertices"]]
    picks, drops = ([name for name in names if kind in name] for kind in ("_pick", "_drop"))
    entries = [
        {"pick": str(random.choice(picks)), "drop": str(random.choice(drops)), "load": 5.0, "release": float(release)}
        for release in np.sort(random.uniform(0.0, seconds, orders)).round(1)
    ]
    row = width - 3
    fleet = [
        {
            "name": f"robot_{i}",
            "pose": [1.4 + (i // 2) % row, 3.4 + 2 * (i // 2 // row), FLOOR * (i % 2) + 0.5 * HEIGHT],
            "shape": {"shape_type": "cylinder", "radius": RADIUS, "height": HEIGHT},
            "controller": {"type": "differential", "max_linear_vel": 1.5, "max_linear_accel": 1.0},
            "orders": {"max_load": 30.0},
        }
        for i in range(robots)
    ]
    return {
        "simulation": {"gui": False, "target_rtf": 0, "monitor": False, "timestep": 0.25, "seed": seed},
        "building": {"content": content, "robots": False, "items": False},
        "robots": fleet,
        "traffic": {"cell": 1.0, "network": "grid"},
        "orders": {"list": entries, "service": {"pick_time": 4.0, "drop_time": 4.0}},
    }
