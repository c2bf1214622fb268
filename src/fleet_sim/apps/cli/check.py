"""`fleet-sim check`: validate scenarios without running them."""

from __future__ import annotations

import argparse
import copy
import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fleet_sim.base.errors import ConfigError, FleetSimError
from fleet_sim.base.files import resolve_config
from fleet_sim.base.params import SimulationParams
from fleet_sim.base.scenario import as_scenario, check_entries, load_scenario, with_implied_settings

if TYPE_CHECKING:
    from fleet_sim.simulation import MultiRobotSimulationCore

MOST = 20
"""Errors of one file that are listed."""

NEUTRAL: dict[str, dict[str, Any]] = {"actions": {"type": "wait", "duration": 1.0}, "sensors": {"type": "imu"}}
"""What stands in lists for entries that are wrong, as errors of the others name their places."""

BODY, PLACE = ("shape", "collision_shape", "urdf_path"), ("pose", "initial_pose", "grid")
"""Keys without which an entry has no body, or is elsewhere."""

ROS_NAME = "a ROS name has letters, digits and _, and begins with a letter"


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("check", help="validate scenarios and report the errors")
    parser.add_argument("config", nargs="+", metavar="CONFIG", help="a YAML file, or the name of a shipped one")
    parser.add_argument("--json", action="store_true", help="print the errors of each file as JSON")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Print OK or the errors of each file; return 0 if all files are valid, else 1."""
    told: dict[str, list[str]] = {}
    for name in args.config:
        try:
            path = resolve_config(name)
            found = errors(as_scenario(load_scenario(path)), str(path))
        except FleetSimError as error:
            found = [str(error)]
        told[name] = found
        for text in () if args.json else found:
            print(f"fleet-sim: error: {text}", file=sys.stderr)
        if not found and not args.json:
            print(f"{path}: OK")
    if args.json:
        print(json.dumps(told, indent=2))
    return int(any(told.values()))


def errors(config: Mapping[str, Any], source: str) -> list[str]:
    """Return what is wrong with the scenario `config`, at most MOST errors.

    After errors in entries of a list, in keys of a section, or in a whole section, the rest is looked at without them.
    """
    found: list[str] = []
    taken: set[str] = set()
    rest = copy.deepcopy(dict(config))
    while len(found) < MOST:
        try:
            return [*found, *(text for text in check(rest, source) if ": without_" not in text)][:MOST]
        except FleetSimError as error:
            faults = error.all() if isinstance(error, ConfigError) else [error]
        known = taken.copy()
        for fault in faults:
            path = _place(fault, rest) if isinstance(fault, ConfigError) and fault.source == source else ""
            # What is missing as it was taken away is not wrong. Without its body an entry may have unknown names.
            missing = path in taken or any(f"section {place!r}" in str(fault) for place in taken)
            bodiless = path.split(".")[0] in known and not re.search("unknown (?!link|joint)", str(fault))
            if not found or not (missing or bodiless):
                found.append(re.sub(r"without_\w+: ", "", str(fault)))
            taken.add(_without(rest, path))
        # Where nothing more could be taken away, the rest cannot be looked at.
        if "" in taken or taken == known:
            break
    return found[:MOST]


def _place(fault: ConfigError, config: Mapping[str, Any]) -> str:
    """Return the path of a fault, with the key where only its text names it: "robots[1]: b: motion_mode: unknown"."""
    entry = re.fullmatch(r"(robots|objects)\[(\d+)\]", fault.path)
    if entry and isinstance(entries := config.get(entry[1]), list) and int(entry[2]) < len(entries):
        given = entries[int(entry[2])]
        if not isinstance(given, dict):
            return fault.path
        # The name of an entity may be that of a key.
        text = str(fault).replace(f": {given.get('name')}: ", ": ", 1)
        for key in re.findall(r"(?:: |unknown )(\w+)(?=: | ')", text):
            if key in given:
                return f"{fault.path}.{key}"
    return fault.path


def _without(config: dict[str, Any], path: str) -> str:
    """Remove the entry or the key at `path`; return its path, "" where the rest cannot be looked at without it."""
    entry = re.match(r"(robots|objects)\[(\d+)\]\.?(\w*)(?:\[(\d+)\])?", path)
    if entry and isinstance(entries := config.get(entry[1]), list) and int(entry[2]) < len(entries):
        given, key = entries[int(entry[2])], entry[3]
        name = {"name": f"without_{entry[1]}_{entry[2]}"}
        if not isinstance(given, dict) or (key not in given and given.get("name") == name["name"]):
            # Its place stays, as errors of the others name theirs; a body without a shape touches nothing.
            entries[int(entry[2])] = name
            return f"{path} again"
        # What is wrong in a key may hide what is wrong in others.
        if key not in given or key in BODY:
            entries[int(entry[2])] = {one: value for one, value in given.items() if one not in BODY + PLACE} | name
            return f"{entry[1]}[{entry[2]}]"
        if key in PLACE:
            del given[key]
            given.update(name, collision_mode="disabled")
        elif entry[4] and key in NEUTRAL:
            name = {"name": f"without_{entry[4]}"} if key == "sensors" else {}
            given[key][int(entry[4])] = {**NEUTRAL[key], **name}
        else:
            del given[key]
        return entry[0]
    section, key = re.findall(r"^(\w*)(?:\.(\w+))?", path)[0]
    settings = config.get(section)
    if isinstance(settings, dict) and settings.pop(key, None) is not None:
        return f"{section}.{key}"
    # Nothing is without the others.
    return (
        section if section not in ("simulation", "robots", "objects") and config.pop(section, None) is not None else ""
    )


def check(config: Mapping[str, Any], source: str) -> list[str]:
    """Return what of the scenario `config` cannot go well; raises FleetSimError where loading it would.

    Robots, objects and sensors are really spawned: whatever reads a scenario in another way finds other faults than
    loading does. No window is opened, no step is made.
    """
    # Imported here so that --help and a wrong option answer at once.
    from fleet_sim.robots.spawning import fill_scenario
    from fleet_sim.simulation import MultiRobotSimulationCore

    settings = with_implied_settings(config, source=source)
    check_entries(config, source=source)
    params = SimulationParams.from_dict(settings, source=source)
    # After reading them: a scenario with a window must be checkable where there is no display.
    params.gui = params.monitor = False
    with MultiRobotSimulationCore(params) as sim:
        fill_scenario(sim, settings, source=source)
        return [f"{source}: {text}" for text in _doomed(sim, for_ros="ros" in config)]


def _doomed(sim: MultiRobotSimulationCore, *, for_ros: bool) -> Iterator[str]:
    """Yield what each robot starts in, is sent into, or is to take and is not there; and names that ROS refuses."""
    import numpy as np

    from fleet_sim.apps.cli.summary import too_long_a_step
    from fleet_sim.robots.actions.drive import MoveAction
    from fleet_sim.robots.actions.joints import JointAction, JointTrajectoryAction
    from fleet_sim.robots.actions.pick_and_drop import TransferAction
    from fleet_sim.robots.agent import Agent
    from fleet_sim.robots.drive import LEAST_DEPTH
    from fleet_sim.world.commands import is_ros_name
    from fleet_sim.world.schema import NO_ROW

    world, params = sim.world, sim.params
    if text := too_long_a_step(params):
        yield f"simulation.timestep: {text}"
    unfit = [agent.name for agent in sim.agents if agent.name and not is_ros_name(agent.name)]
    for name in unfit if for_ros else ():
        yield f"{name!r} would have no topics: {ROS_NAME}"
    if unfit and not for_ros:
        more = f" and {len(unfit) - 1} more" if len(unfit) > 1 else ""
        print(f"fleet-sim: note: {unfit[0]!r}{more} would have no topics on ROS 2: {ROS_NAME}", file=sys.stderr)
    places = [(agent, agent.get_pose(), "starts") for agent in sim.agents]
    for row, action in world.actions.with_rows():
        agent = world.handles[row]
        if isinstance(action, MoveAction):
            places += [(agent, pose, "is sent to a place") for pose in action.path]
        target = getattr(action, "target_object_id", None)
        if isinstance(target, str) and not world.index.has_name(target) and not target.startswith("#"):
            yield f"{agent.name}: {type(action).__name__}: there is no {target!r} to take"
        hindrance = action.arm.hindrance(agent) if isinstance(action, TransferAction) else None
        if isinstance(action, JointAction | JointTrajectoryAction):
            # They refuse at once what their joints cannot do; this world makes no step.
            action.begin(agent)
        if cause := action.error_message or (hindrance and hindrance[0]):
            yield f"{agent.name}: {type(action).__name__}: {cause}"
    rows = np.array([agent.row for agent, _, _ in places], np.int64)
    bodies = world.bodies_at(
        rows,
        np.array([pose.position for _, pose, _ in places]).reshape(-1, 3),
        np.array([pose.orientation for _, pose, _ in places]).reshape(-1, 4),
        np.ones(len(rows), bool),
        np.full(len(rows), LEAST_DEPTH),
    )
    for (agent, pose, what), body in zip(places, bodies.tolist(), strict=True):
        if body != NO_ROW:
            x, y = pose.position[:2]
            yield f"{agent.name}: {what} inside of {world.label(body)!r}, at ({x:g}, {y:g})"
    in_static = {agent.row for (agent, _, _), body in zip(places, bodies.tolist(), strict=True) if body != NO_ROW}
    for pair in sim.check_collisions()[0]:
        first, second = sorted(pair, key=lambda one: not isinstance(one, Agent))
        known = {first.row, second.row} & in_static
        if isinstance(first, Agent) and not known and sim.queries.distance(first, second) < -LEAST_DEPTH:
            yield f"{first.name}: starts inside of {world.label(second.row)!r}"
