"""Target: messages of a master control to vehicles, in all versions of VDA 5050."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

from fuzz_files import words_of
from fuzz_mutator import LARGEST
from fuzz_scenarios import VALUES, places_in
from fuzz_schema import Canaries, expanded, watch_files, worst_of
from fuzz_target import Target
from fuzz_worlds import check_columns
from vehicle_bench import VehicleBench, scenario

VERSIONS = ("2.0", "2.1", "3.0")
STEPS = 4
"""Made after each message."""
CRATE = {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}


def messages(version: str) -> list[list[tuple[str, dict[str, Any]]]]:
    """Return conversations: topics with what is told there, without its header."""
    from master_control import action, edge, line, node

    turn = {"controlPoints": [{"x": 0, "y": 0}, {"x": 1, "y": 0.2}, {"x": 2, "y": 0}], "knotVector": [0, 0, 0, 1, 1, 1]}
    curve = line("o", [(0.0, 0.0), (2.0, 0.0)])
    curve["edges"][0]["trajectory"] = {"degree": 2, **turn}
    route = line("o", [(0.0, 0.0), (1.0, 0.0), (2.0, 1.0)], base=2)
    more = line("o", [(1.0, 0.0), (1.0, 3.0)], update=1, first=1)
    loads = [action("pick", "p", loadId="crate"), action("drop", "d")]
    work = {"orderId": "w", "orderUpdateId": 0, "nodes": [node(0, 0.0, 0.0, actions=loads)], "edges": []}
    ends = {"startNodeId": "n0", "endNodeId": "n1"}
    limits = edge(
        0, maxSpeed=0.5, maximumSpeed=0.5, orientation=0.0, corridor={"leftWidth": 1, "rightWidth": 1}, **ends
    )
    limited = {"orderId": "l", "orderUpdateId": 0, "nodes": [node(0, 0.0, 0.0), node(1, 1.0, 0.0, theta=0.5)]}
    limited["edges"] = [limits]

    place = "initializePosition" if version == "3.0" else "initPosition"
    placed = action(place, "i", x=1, y=2, theta=0.5, mapId="map", lastNodeId="n1")
    found = [
        [("order", route), ("order", more), instant(action("startPause", "s")), instant(action("stopPause", "t"))],
        [("order", curve), instant(action("cancelOrder", "c", orderId="o"))],
        [("order", work)],
        [("order", limited)],
        [
            instant(placed),
            instant(action("stateRequest", "r"), action("factsheetRequest", "f"), action("logReport", "x")),
        ],
        [instant(action("downloadMap", "m", mapId="hall", mapVersion="1", mapDownloadLink="http://x"))],
        [instant(action("startCharging", "k")), instant(action("stopCharging", "l"))],
    ]
    if version == "3.0":
        found.append(zones())
    return found


def instant(*actions: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the message that asks for actions at once."""
    return "instantActions", {"actions": [one | {"blockingType": "NONE"} for one in actions]}


def zones() -> list[tuple[str, dict[str, Any]]]:
    """Return the conversation about zones, which version 3.0 brought."""
    from master_control import action, line

    corners = [{"x": x, "y": y} for x, y in ((1.0, -1.0), (1.5, -1.0), (1.5, 1.0), (1.0, 1.0))]
    kinds = ({"zoneType": "RELEASE"}, {"zoneType": "SPEED_LIMIT", "maximumSpeed": 0.4})
    areas = [{"zoneId": f"z{index}", "vertices": corners, **kind} for index, kind in enumerate(kinds)]
    zone_set = ("zoneSet", {"zoneSet": {"mapId": "map", "zoneSetId": "s", "zones": areas}})
    enabled = instant(action("enableZoneSet", "e", zoneSetId="s"))
    granted = {"requestId": "0", "grantType": "GRANTED", "leaseExpiry": "2030-01-01T00:00:00Z"}
    drive = ("order", line("z", [(0.0, 0.0), (3.0, 0.0)]))
    return [zone_set, enabled, drive, ("responses", {"responses": [granted]})]


def vehicles_target() -> Target:
    """Return the target: the first line of an input is the version, each other one a topic and a message.

    What a vehicle tells after each message must be of its version, whatever it was told.
    """
    object_ = {"name": "crate", "pose": [0.5, 0.0, 0.1], "shape": CRATE}
    benches = {version: VehicleBench(scenario(version, objects=[object_])) for version in VERSIONS}
    begins = {version: bench.sim.save_state() for version, bench in benches.items()}
    canaries, noted, seeds = Canaries(), list[str](), []
    watch_files(canaries.folder, noted.append)
    for version, bench in benches.items():
        vehicle = bench.vehicle
        header = {"headerId": 1, "timestamp": "2026-01-01T00:00:00Z", "version": vehicle.version.number}
        header |= {"manufacturer": vehicle.identity.manufacturer, "serialNumber": vehicle.serial}
        for one in messages(version):
            lines = [f"{topic} {json.dumps(header | body)}" for topic, body in one]
            seeds.append("\n".join([version, *lines]).encode())

    def feed(data: bytes) -> str | None:
        version, *lines = expanded(data.decode("utf-8", "replace"), str(canaries.folder)).split("\n")
        bench = benches.get(version, benches["2.1"])
        faults, refused = bench.sim.guard.total, 0
        try:
            for text in lines:
                topic, _, body = text.partition(" ")
                reasons = bench.send(topic, body)
                refused += bool(reasons)
                canaries.check([], " ".join(reasons.values()))
                for _ in range(STEPS):
                    bench.sim.step_once()
                # Raises where a message that the vehicle sends would not be one.
                json.dumps(bench.state(), allow_nan=False)
            check_columns(bench.sim)
            canaries.check(noted, "")
            canaries.check_unchanged()
            noted.clear()
            assert bench.sim.guard.total == faults, f"survived, but a fault: {dict(bench.sim.guard.counts)}"
            return f"refused {refused}" if refused else None
        finally:
            bench.sim.restore_state(begins[bench.vehicle.settings.version])

    return Target(feed, seeds, words_of(seeds), mutate=mutate, seconds=20.0)


def mutate(data: bytes, random: Random) -> bytes:
    """Return messages in which values of JSON are changed, removed or moved, at the same place of all versions."""
    version, *lines = data.split(b"\n")
    if not lines:
        return data
    index = random.randrange(len(lines))
    topic, _, body = lines[index].partition(b" ")
    try:
        tree = json.loads(body)
    except (ValueError, RecursionError):
        return data[: random.randrange(len(data) + 1)]
    places = list(places_in(tree))
    if places and random.random() < 0.4:
        tree, places = worst_of(tree, random), []
    for _ in range(random.choice((1, 1, 2, 4)) if places else 0):
        holder, key = random.choice(places)
        if random.random() < 0.7:
            # A copy: lists among the values may be changed again.
            holder[key] = copy.deepcopy(random.choice((*VALUES, "HARD", "map", "n1", "crate", -3.0, 10**400, 1e9)))
        elif isinstance(holder, list) and len(holder) < 1000:
            holder *= random.choice((0, 2, 5))
        elif isinstance(holder, dict):
            other, wanted = random.choice(places)
            try:
                holder[key] = json.loads(json.dumps(other[wanted]))
            except (LookupError, ValueError):
                continue
        places = list(places_in(tree))
        if not places:
            break
    body = json.dumps(tree).encode()
    lines[index] = topic + b" " + body if len(body) < LARGEST // 2 else lines[index]
    version = random.choice(VERSIONS).encode() if random.random() < 0.1 else version
    return b"\n".join([version, *lines])
