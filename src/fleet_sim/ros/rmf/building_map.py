"""The map of a building as Open-RMF has it: levels with doors and graphs, and lifts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rmf_building_map_msgs.msg import BuildingMap, Door, Graph, GraphEdge, GraphNode, Level, Lift, Param

from fleet_sim.sites import Building
from fleet_sim.sites.building import Level as Storey
from fleet_sim.sites.building import LevelGraph, LiftShaft, Value
from fleet_sim.sites.site import Door as Doorway
from fleet_sim.spatial import trigonometry as trig

DOOR_TYPES = {
    "sliding": Door.DOOR_TYPE_SINGLE_SLIDING,
    "double_sliding": Door.DOOR_TYPE_DOUBLE_SLIDING,
    "hinged": Door.DOOR_TYPE_SINGLE_SWING,
    "double_hinged": Door.DOOR_TYPE_DOUBLE_SWING,
}
NODE_KEYS = (
    *("dock_name", "pickup_dispenser", "dropoff_ingestor", "mutex"),
    *("is_charger", "is_cleaning_zone", "is_holding_point", "is_parking_spot"),
)
"""Properties of vertices that the map tells."""
EDGE_KEYS = ("speed_limit", "mutex")


def building_map(building: Building) -> BuildingMap:
    """Return the map of `building` as a message."""
    return BuildingMap(
        name=building.name,
        levels=[_level(level) for level in building.levels],
        lifts=[_lift(lift) for lift in building.lifts],
    )


def _level(level: Storey) -> Level:
    return Level(
        name=level.name,
        elevation=level.elevation,
        doors=[_door(door) for door in level.site.doors],
        nav_graphs=[_graph(graph, NODE_KEYS, EDGE_KEYS) for graph in level.graphs],
        wall_graph=_graph(level.walls, (), None),
    )


def _door(door: Doorway) -> Door:
    """Return a door as Open-RMF describes it, in m and rad."""
    return Door(
        name=door.name,
        v1_x=door.begin[0],
        v1_y=door.begin[1],
        v2_x=door.end[0],
        v2_y=door.end[1],
        door_type=DOOR_TYPES.get(door.kind, Door.DOOR_TYPE_UNDEFINED),
        motion_range=math.radians(door.degrees),
        # Turns to the right count as positive there.
        motion_direction=-door.direction,
    )


def _graph(graph: LevelGraph, node_keys: tuple[str, ...], edge_keys: tuple[str, ...] | None) -> Graph:
    """Return `graph` with these properties of its nodes and edges; None: with all."""
    nodes = [
        GraphNode(x=x, y=y, name=name, params=_params(properties, node_keys))
        for (x, y), name, properties in zip(graph.positions.tolist(), graph.names, graph.properties, strict=True)
    ]
    edges = []
    for begin, end, properties in graph.edges:
        # Walls have no direction; lanes have one unless they say otherwise.
        both = edge_keys is None or bool(properties.get("bidirectional"))
        kind = GraphEdge.EDGE_TYPE_BIDIRECTIONAL if both else GraphEdge.EDGE_TYPE_UNIDIRECTIONAL
        told = {key: value for key, value in properties.items() if edge_keys is None or value}
        edges.append(GraphEdge(v1_idx=begin, v2_idx=end, edge_type=kind, params=_params(told, edge_keys)))
    return Graph(name=graph.name, vertices=nodes, edges=edges)


def _params(properties: Mapping[str, Value], keys: tuple[str, ...] | None) -> list[Param]:
    return [_param(key, value) for key, value in properties.items() if keys is None or key in keys]


def _param(name: str, value: Value) -> Param:
    """Return a property with the type that its value has."""
    # Truth first: it is an int in Python.
    if isinstance(value, bool):
        return Param(name=name, type=Param.TYPE_BOOL, value_bool=value)
    if isinstance(value, str):
        return Param(name=name, type=Param.TYPE_STRING, value_string=value)
    if isinstance(value, int):
        return Param(name=name, type=Param.TYPE_INT, value_int=value)
    return Param(name=name, type=Param.TYPE_DOUBLE, value_float=float(value))


def _lift(lift: LiftShaft) -> Lift:
    """Return a lift as Open-RMF describes it: its doors from end to end in the frame of the building."""
    doors = []
    for door in lift.doors:
        ends: list[Any] = []
        for side in (-0.5, 0.5):
            turned, straight = trig.sin_cos_of(door.yaw)
            x, y = door.x + side * door.width * straight, door.y + side * door.width * turned
            sine, cosine = trig.sin_cos_of(lift.yaw)
            ends += [lift.x + x * cosine - y * sine, lift.y + x * sine + y * cosine]
        doors.append(
            Door(
                name=door.name,
                v1_x=ends[0],
                v1_y=ends[1],
                v2_x=ends[2],
                v2_y=ends[3],
                door_type=door.kind,
                motion_range=1.571,
                motion_direction=-1,
            )
        )
    return Lift(
        name=lift.name,
        levels=list(lift.levels),
        doors=doors,
        ref_x=lift.x,
        ref_y=lift.y,
        ref_yaw=lift.yaw,
        width=lift.width,
        depth=lift.depth,
    )
