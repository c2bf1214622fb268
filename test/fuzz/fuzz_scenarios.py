"""The target of scenarios: `check`, the library, the node and the JSON schema say the same of each."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from importlib.machinery import PathFinder
from importlib.util import find_spec
from itertools import islice
from random import Random
from typing import Any

import jsonschema
import yaml
from fuzz_files import SEEDS, Files, words_of
from fuzz_mutator import LARGEST
from fuzz_target import ROOT, Target

from fleet_sim import MultiRobotSimulationCore, SimulationParams
from fleet_sim.apps.cli.check import check
from fleet_sim.apps.cli.schema import scenario_schema
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.scenario import RosParams, as_scenario, is_scenario
from fleet_sim.base.settings import load_mapping
from fleet_sim.robots.spawning import fill_scenario

HAS_NODE = PathFinder.find_spec("rclpy") is not None or find_spec("cyclonedds") is not None
"""Whether a node can be made: pocket_ros answers for rclpy also where it has no DDS to talk over."""

VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 2.5, 1e-9, 1e6, 1e155, -1e155, float("inf"), 2**31, 2**63, 10**30, True, None, "", "x"),
    *(
        [],
        {},
        [1],
        [1, 2, 3],
        ["a"],
        {"a": 1},
        [None],
        [[]],
        [1e9] * 3,
        [0] * 4,
        "1.5",
        "none",
        "all",
        {"type": "lidar"},
    ),
)
"""What a value of a scenario may be changed to."""

BEYOND_SCHEMAS = (
    # Names that must exist or be free, and files.
    r"there is no |unknown |is already |is taken|no file|not a |must name|must not be empty|duplicate",
    # What a class of its own reads: its parameters are those of the type that the entry names.
    r"\.actions\[|controller|sensors?\b|features?\b",
    # Numbers that are compared with others: the extent of the world, unit quaternions, sizes of bodies.
    r"pose|position|the world ends|quaternion|grid",
    # What the site has, and what has room in it.
    r"\.at\b|: (traffic|site|orders|doors|tasks)\b",
    # What goes with what: the sizes of a shape with its type.
    r": for a .* only, not for a ",
)
"""What the JSON schema leaves to who reads the scenario, as parts of the messages."""

MOST_PLACES = 5000
"""Places of a scenario that a mutant may change."""

HEADLESS = {"gui": False, "monitor": False}


YARD = (SEEDS / "scenarios" / "yard.yaml").read_bytes()


def scenario_target() -> Target:
    """Return the target. All answer in the same way whether a scenario is valid, and make the same of it.

    Scenarios come as JSON where they can: reading the same tree as YAML takes longer than all that is done with it.
    """
    files = Files()
    file = files.write(b"%% scenario.yaml\n%% yard.yaml\n" + YARD, "scenario.yaml")
    # Not bin_picking.yaml: its physics is another engine's, and slow to begin.
    shipped = ("arm", "demo", "mobile_manipulator", "nav2", "sensors", "warehouse")
    sites = ("goods_to_person", "office", "warehouse", "vda5050")
    paths = [f"{name}.yaml" for name in shipped] + [f"sites/{name}.yaml" for name in sites]
    shipped_ones = [small(yaml.safe_load((ROOT / "config" / path).read_bytes())) for path in paths]
    seeds = [json.dumps(part).encode() for one in shipped_ones for part in parts_of(one)]
    validator = jsonschema.Draft202012Validator(scenario_schema())

    def feed(data: bytes) -> str:
        tree = tree_of(data)
        if isinstance(tree, dict):
            return compare(headless(tree), str(file), validator)
        other = files.write(data, "scenario.yaml")
        try:
            return compare(headless(load_mapping(other)), str(other), validator)
        finally:
            files.clean(other)

    # A million entities are allowed, and take more memory than a target has.
    allowed = (FleetSimError, MemoryError)
    return Target(feed, seeds, words_of(seeds), allowed, mutate, mutate_share=0.9, seconds=60.0)


def tree_of(data: bytes) -> object:
    """Return what JSON there is in `data`, or None."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def small(config: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario with the same keys and kinds of values, few bodies and the yard as its site."""
    for entry in [*config.get("robots", []), *config.get("objects", [])]:
        for place in ("grid", "at"):
            if place in entry:
                entry[place]["count"] = min(2, entry[place]["count"])
        entry.get("at", {}).pop("clearance", None)
    if "site" in config:
        config["site"]["map"] = "yard.yaml"
        config["site"].pop("cell", None)
    if "doors" in config:
        config["doors"]["list"] = [{**config["doors"]["list"][0], "begin": [3.0, 2.0], "end": [4.0, 2.0]}]
    if "pods" in config.get("orders", {}):
        config["orders"]["pods"] |= {"storage": [[2, 1, 5, 3]], "count": 2, "skus": 4}
    for arrivals in config.get("orders", {}).get("arrivals", []):
        arrivals["per_hour"] = [60]
    return config


def parts_of(config: dict[str, Any]) -> list[dict[str, Any]]:
    """Return scenarios with one robot and one object each, out of one with several."""
    bodies = [config.get(name, [])[:5] or [None] for name in ("robots", "objects")]
    rest = {key: value for key, value in config.items() if key not in ("robots", "objects")}
    count = max(len(several) for several in bodies)
    chosen = [[several[number % len(several)] for several in bodies] for number in range(count)]
    # What is named in a text is needed as a whole.
    if "vda5050" in config:
        return [config]
    names = ("robots", "objects")
    return [{**rest, **{n: [one] for n, one in zip(names, pair, strict=True) if one is not None}} for pair in chosen]


def headless(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scenario without windows, as there may be no display."""
    given = dict(as_scenario(config))
    if not is_scenario(given):
        return {**given, **HEADLESS}
    settings = given.get("simulation", {})
    return {**given, "simulation": {**settings, **HEADLESS} if isinstance(settings, Mapping) else settings}


def compare(config: dict[str, Any], source: str, validator: Any) -> str:
    """Ask all readers; return what they agree on, raise AssertionError where they differ."""
    told = {"from_dict": asked(lambda: in_library(config, source)), "check": asked(lambda: check(config, source))}
    if HAS_NODE and find_spec("rclpy"):
        told["node"] = asked(lambda: in_node(config, source))
    reasons = {who: answer if isinstance(answer, FleetSimError) else None for who, answer in told.items()}
    assert len({reason is None for reason in reasons.values()}) == 1, f"one refuses what another takes: {reasons}"
    reason = reasons["from_dict"]
    if reason is None and "node" in told:
        assert told["node"] == told["from_dict"], "the node makes another world of it"
    # A file of settings alone has no section, and none of the keys that the schema of scenarios knows.
    if not is_scenario(config):
        return "settings"
    if has_no_json(config):
        return "nan or infinity, which JSON does not know"
    fault = next(iter(validator.iter_errors(config)), None)
    if reason is None:
        assert fault is None, f"the schema refuses what is taken: {fault.json_path}: {fault.message[:300]}"
        return "valid"
    semantic = any(re.search(pattern, str(reason)) for pattern in BEYOND_SCHEMAS)
    assert fault is not None or semantic, f"the schema takes what is refused: {reason}"
    return "refused by all" if fault is not None else "refused for what it means"


def has_no_json(tree: Any) -> bool:
    """Return whether some number in a tree is none, or infinite."""
    entries = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return (isinstance(tree, float) and not math.isfinite(tree)) or any(map(has_no_json, entries))


def asked(question: Callable[[], object]) -> object:
    """Return the answer, or the error that is one."""
    try:
        return question()
    except FleetSimError as error:
        return error


def in_library(config: Mapping[str, Any], source: str) -> str:
    """Return the state that the library makes of a scenario."""
    with MultiRobotSimulationCore.from_dict(config, source=source) as sim:
        return sim.state_hash()


def in_node(config: Mapping[str, Any], source: str) -> str:
    """Return the state that the node makes of a scenario."""
    from fleet_sim.ros.node import completed

    scenario = completed(config, source=source)
    params = SimulationParams.from_dict(scenario, source=source)
    RosParams.from_scenario(scenario, source=source)
    with MultiRobotSimulationCore(params) as sim:
        fill_scenario(sim, scenario, source=source)
        return sim.state_hash()


def mutate(data: bytes, random: Random) -> bytes:
    """Return a scenario in which values are changed, removed or doubled, and keys are misspelt or moved."""
    tree = tree_of(data)
    if not isinstance(tree, dict):
        return data[: random.randrange(len(data) + 1)]
    for _ in range(random.choice((1, 1, 2, 4))):
        # A part that was put into itself some times over has millions.
        places = list(islice(places_in(tree), MOST_PLACES))
        if not places:
            break
        holder, key = random.choice(places)
        way = random.randrange(6)
        if way < 3:
            holder[key] = random.choice(VALUES)
        elif way == 3:
            del holder[key]
        elif way == 4:
            other, wanted = random.choice(places)
            holder[key] = other[wanted]
        elif isinstance(holder, dict):
            holder[random.choice((str(key)[:-1], "name", "type", f"{key}s"))] = holder.pop(key)
        else:
            holder.insert(key, holder[key])
    try:
        mutant = json.dumps(tree).encode()
        return mutant if len(mutant) <= LARGEST else data
    except (ValueError, RecursionError):
        # A tree that holds itself.
        return data


def places_in(tree: Any, depth: int = 0) -> Any:
    """Yield every (list or mapping, index or key) in a tree."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(entries):
        yield tree, key
        if depth < 20:
            yield from places_in(value, depth + 1)
