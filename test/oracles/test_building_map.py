"""The map of a building that Open-RMF gets, against the places in m from which its drawings were made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import yaml
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.warehouse.equipment import LiftHandle
from fleet_sim.warehouse.sites import Building, read_building

SCALE = 0.05
"""Size of a pixel of the lower drawing in m; the upper one is smaller, turned and elsewhere."""
UPPER, TURN, SHIFT = 0.031, 0.7, (3.0, -8.0)

Place = tuple[float, float]
ROOM: list[Place] = [(0.0, 0.0), (20.0, 0.0), (20.0, -10.0), (0.0, -10.0), (10.0, -2.5), (10.0, -4.1)]
SPOTS: dict[str, tuple[Place, dict[str, Any]]] = {
    "home": ((2.0, -8.0), {"is_charger": [4, True], "is_parking_spot": [4, True], "dock_name": [1, "dock_7"]}),
    "lounge": ((18.0, -7.0), {"is_parking_spot": [4, True], "is_holding_point": [4, False]}),
    "kitchen": ((17.0, -2.0), {"pickup_dispenser": [1, "coke"], "is_charger": [4, False], "mutex": [1, "m"]}),
    "ward": ((4.0, -1.5), {"dropoff_ingestor": [1, "tray"], "is_cleaning_zone": [4, True], "mass": [3, 1.5]}),
    "corner": ((6.3, -5.9), {}),
}
LANES: list[tuple[str, str, dict[str, Any]]] = [
    (
        "kitchen",
        "home",
        {"bidirectional": [4, True], "speed_limit": [3, 0.8], "graph_idx": [2, 1], "orientation": [1, "backward"]},
    ),
    ("home", "lounge", {"bidirectional": [4, False], "speed_limit": [3, 0.0], "graph_idx": [2, 1], "mutex": [1, "x"]}),
    ("lounge", "ward", {"bidirectional": [4, True], "orientation": [1, "forward"]}),
]


def lower(place: Place) -> list[float]:
    return [place[0] / SCALE, -place[1] / SCALE]


def upper(place: Place) -> list[float]:
    """Where a place is in the upper drawing: turned back, and with y down."""
    x, y = (place[0] - SHIFT[0]) / UPPER, (place[1] - SHIFT[1]) / UPPER
    return [x * math.cos(TURN) + y * math.sin(TURN), x * math.sin(TURN) - y * math.cos(TURN)]


def level(drawn: Any, elevation: float, doors: list[Any]) -> dict[str, Any]:
    vertices = [[*drawn(place), 0, ""] for place in ROOM]
    vertices += [[*drawn(place), 0, name, properties] for name, (place, properties) in SPOTS.items()]
    number = {name: len(ROOM) + index for index, name in enumerate(SPOTS)}
    return {
        "elevation": elevation,
        "vertices": vertices,
        "fiducials": [[*drawn((0.0, 0.0)), "a"], [*drawn((20.0, -10.0)), "b"], [*drawn((5.0, -9.0)), "c"]],
        # What a pixel is, is their mean.
        "measurements": [[0, 1, {"distance": [3, 20.06]}], [0, 3, {"distance": [3, 9.97]}]],
        "floors": [{"vertices": [0, 1, 2, 3]}],
        "walls": [[0, 1, {"texture_name": [1, "brick"]}], [1, 4, {}]],
        "doors": doors,
        "lanes": [[number[begin], number[end], properties] for begin, end, properties in LANES],
    }


def drawing() -> dict[str, Any]:
    swing = {"type": "hinged", "motion_degrees": 70.0, "motion_direction": 1, "right_left_ratio": 1.6}
    other = {"type": "double_hinged", "motion_degrees": 35.0, "motion_direction": -1}
    told = [
        {key: [0, value] for key, value in {"name": name, **one}.items()} for name, one in (("d", swing), ("e", other))
    ]
    cabin = {
        "reference_floor_name": "L2",
        "x": upper((13.0, -6.0))[0],
        "y": upper((13.0, -6.0))[1],
        "yaw": 0.4,
        "width": 2.6,
        "depth": 1.9,
        "doors": {"d1": {"x": -0.3, "y": 0.9, "width": 1.1, "motion_axis_orientation": 0.2, "door_type": 2}},
        "level_doors": {"L1": ["d1"], "L2": []},
        "initial_floor_name": "L2",
    }
    return {
        "name": "clinic",
        "reference_level_name": "L1",
        "levels": {"L1": level(lower, 0.7, [[4, 5, told[0]], [5, 4, told[1]]]), "L2": level(upper, 4.3, [])},
        "lifts": {"Lift": cabin},
    }


@pytest.fixture(scope="module")
def building(tmp_path_factory: pytest.TempPathFactory) -> Building:
    path = tmp_path_factory.mktemp("building") / "clinic.building.yaml"
    path.write_text(yaml.safe_dump(drawing()))
    return read_building(path)


@holds(
    "api:Site.stations",
    "api:Site.roadmap",
    fault="warehouse/sites/rmf_format.py: the turn of a level goes the other way",
)
def test_stations_and_lanes_of_all_levels_are_where_they_were_drawn(building: Building) -> None:
    kinds = {"home": "charge", "lounge": "park", "kitchen": "pick", "ward": "drop"}
    for storey in building.levels:
        site = storey.site
        assert {station.name: station.kind.value for station in site.stations} == kinds
        for station in site.stations:
            assert (station.x, station.y) == pytest.approx(SPOTS[station.name][0])
        roads = site.roadmap
        assert roads is not None and set(roads.names) == set(kinds)
        assert [tuple(place) for place in roads.positions] == [pytest.approx(SPOTS[name][0]) for name in roads.names]
        ways = {
            (roads.names[begin], roads.names[end]): float(limit)
            for (begin, end), limit in zip(roads.lanes.tolist(), roads.speed_limits, strict=True)
        }
        assert ways == {
            **dict.fromkeys([("kitchen", "home"), ("home", "kitchen")], 0.8),
            **dict.fromkeys([("home", "lounge"), ("lounge", "ward"), ("ward", "lounge")], math.inf),
        }
        for box, (begin, end) in zip(site.walls, ((0, 1), (1, 4)), strict=True):
            way = np.subtract(ROOM[end], ROOM[begin])
            assert box[:2] == pytest.approx(np.mean((ROOM[begin], ROOM[end]), axis=0))
            assert abs(np.sin(box[2] - np.arctan2(*way[::-1]))) < 1e-9
            # As thick as it is longer, so that walls that meet leave no gap.
            assert 0.0 < box[4] < 0.2 and box[3] == pytest.approx(0.5 * np.hypot(*way) + box[4])
        spots = np.array(
            [(10.0, -6.0), (19.5, -9.5), (0.5, -9.5), (10.0, 0.5), (-0.5, -5.0), (20.5, -5.0), (10, -10.5)]
        )
        free = site.grid.is_free(site.grid.cells_at(spots))
        assert free.tolist() == [True, True, True, False, False, False, False]
        for (begin, end), length in zip(roads.lanes.tolist(), roads.lengths, strict=True):
            assert length == pytest.approx(math.dist(SPOTS[roads.names[begin]][0], SPOTS[roads.names[end]][0]))


@holds(
    *(f"ros:rmf_building_map_msgs/BuildingMap.levels.nav_graphs.{part}" for part in ("vertices.params.*", "edges.*")),
    *(f"ros:rmf_building_map_msgs/BuildingMap.levels.doors.{part}" for part in ("door_type", "motion_*")),
    *(f"ros:rmf_building_map_msgs/BuildingMap.lifts.{part}" for part in ("doors.*", "ref_yaw", "width", "depth")),
    *(f"ros:rmf_building_map_msgs/BuildingMap.levels.wall_graph.{part}" for part in ("vertices.params.*", "edges.*")),
    fault="warehouse/rmf/topics.py: lanes lead both ways, and doors turn to the other side",
)
def test_the_map_has_each_lane_property_door_and_lift_of_the_file(building: Building) -> None:
    pytest.importorskip("rmf_building_map_msgs")
    from fleet_sim.warehouse.rmf.topics import building_map

    message = building_map(building)
    assert message.name == "clinic" and [level.name for level in message.levels] == ["L1", "L2"]
    assert [level.elevation for level in message.levels] == pytest.approx([0.7, 4.3])
    told = {
        "home": {"is_charger": True, "is_parking_spot": True, "dock_name": "dock_7"},
        "lounge": {"is_parking_spot": True, "is_holding_point": False},
        "kitchen": {"pickup_dispenser": "coke", "is_charger": False, "mutex": "m"},
        "ward": {"dropoff_ingestor": "tray", "is_cleaning_zone": True},
    }
    for one in message.levels:
        assert [graph.name for graph in one.nav_graphs] == ["0", "1"]
        lanes = {}
        for graph in one.nav_graphs:
            for vertex in graph.vertices:
                assert (vertex.x, vertex.y) == pytest.approx(SPOTS[vertex.name][0], abs=1e-5)
                assert params(vertex) == told[vertex.name]
            for edge in graph.edges:
                ends = graph.vertices[edge.v1_idx].name, graph.vertices[edge.v2_idx].name
                lanes[(graph.name, *ends)] = (edge.edge_type, params(edge))
        # 0: both ways, 1: one way only. No limit is not told.
        assert lanes == {
            ("1", "kitchen", "home"): (0, {"speed_limit": pytest.approx(0.8)}),
            ("1", "home", "lounge"): (1, {"mutex": "x"}),
            ("0", "lounge", "ward"): (0, {}),
        }
        walls = one.wall_graph
        corners = [(vertex.x, vertex.y) for vertex in walls.vertices]
        assert corners == [pytest.approx(ROOM[index], abs=1e-5) for index in (0, 1, 4)]
        assert [(edge.v1_idx, edge.v2_idx, edge.edge_type, params(edge)) for edge in walls.edges] == [
            (0, 1, 0, {"texture_name": "brick"}),
            (1, 2, 0, {}),
        ]
    swing, double = message.levels[0].doors
    # As Open-RMF numbers them: 3 and 5 are single and double swing doors.
    types = [swing.DOOR_TYPE_SINGLE_SWING, swing.DOOR_TYPE_DOUBLE_SWING]
    assert [door.door_type for door in (swing, double)] == types
    assert [door.motion_range for door in (swing, double)] == pytest.approx([math.radians(70), math.radians(35)])
    assert [door.motion_direction for door in (swing, double)] == [1, -1]
    assert (swing.v1_x, swing.v1_y, swing.v2_x, swing.v2_y) == pytest.approx((*ROOM[4], *ROOM[5]))
    (lift,) = message.lifts
    assert (lift.name, list(lift.levels)) == ("Lift", ["L1", "L2"])
    assert (lift.ref_x, lift.ref_y, lift.ref_yaw, lift.width, lift.depth) == pytest.approx((13.0, -6.0, 0.4, 2.6, 1.9))
    (door,) = lift.doors
    middle = complex(13.0, -6.0) + complex(-0.3, 0.9) * unit(0.4)
    ends = complex(door.v1_x, door.v1_y), complex(door.v2_x, door.v2_y)
    assert [
        abs(end - middle - side * 0.55 * unit(0.6)) for end, side in zip(ends, (-1, 1), strict=True)
    ] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert door.door_type == 2 and building.lifts[0].initial == "L2"


@holds(
    "api:SimObject.get_pose", "api:LiftHandle.floor",
    fault="warehouse/rmf/building.py: x twice in the place of an item",
)  # fmt: skip
def test_a_simulation_of_a_building_has_its_parts_where_they_were_drawn() -> None:
    content = drawing()
    cell, starts = (7.1, -3.4), {"home": ("kitchen", -1.0), "ward": ("lounge", 1.0), "corner": ("", 1.0)}
    for name, drawn in (("L1", lower), ("L2", upper)):
        x, y = drawn(cell)
        model = {"model_name": "TeleportIngestor", "name": f"cell_{name}", "static": True, "x": x, "y": y}
        content["levels"][name]["models"] = [{**model, "z": 0.3, "yaw": 0.5}]
        for spot in starts:
            vertex = content["levels"][name]["vertices"][len(ROOM) + list(SPOTS).index(spot)]
            robot = {"spawn_robot_name": [1, f"{spot}_{name}"], "spawn_robot_type": [1, "TinyRobot"]}
            vertex[4] = {**vertex[4], **robot}
    simulation = {"gui": False, "monitor": False, "target_rtf": 0}
    with fs.MultiRobotSimulationCore.from_dict({"simulation": simulation, "building": {"content": content}}) as sim:
        for name, floor in (("L1", 0.7), ("L2", 4.3)):
            part = sim.get_object(f"cell_{name}").get_pose()
            # As traffic_editor writes worlds: the yaw is that of the file on turned drawings, too.
            assert (*part.position[:2], part.yaw) == pytest.approx((*cell, 0.5))
            assert floor + 0.3 < part.position[2] < floor + 0.6
            for spot, (other, sign) in starts.items():
                pose, place = sim.get_object(f"{spot}_{name}").get_pose(), np.array(SPOTS[spot][0])
                assert pose.position[:2] == pytest.approx(place) and floor < pose.position[2] < floor + 0.5
                # Along the first lane there, backwards where that is driven so.
                way = sign * (place - SPOTS[other][0]) @ [1, 1j] if other else 1.0
                assert np.exp(1j * pose.yaw) == pytest.approx(way / abs(way))
        door, lift = sim.get_object("d"), sim.get_object("Lift").get_pose()
        assert door.get_pose().position[:2] == pytest.approx(np.mean((ROOM[4], ROOM[5]), axis=0))
        assert abs(math.sin(door.get_pose().yaw)) == pytest.approx(1.0)
        assert (*lift.position[:2], lift.yaw) == pytest.approx((13.0, -6.0, 0.4))
        assert LiftHandle.of(sim.get_object("Lift")).floor == "L2" and lift.position[2] == pytest.approx(4.3, abs=0.1)
        chargers = {charger.name: charger.position for charger in sim.features.use("slotcar").chargers}
        assert chargers == {
            "home": pytest.approx((*SPOTS["home"][0], 0.7)),
            "L2_home": pytest.approx((*SPOTS["home"][0], 4.3)),
        }


def unit(angle: float) -> complex:
    return complex(math.cos(angle), math.sin(angle))


def params(holder: Any) -> dict[str, Any]:
    """Properties by name, each from the field that its type names."""
    fields = {1: "value_string", 2: "value_int", 3: "value_float", 4: "value_bool"}
    return {one.name: getattr(one, fields[one.type]) for one in holder.params}
