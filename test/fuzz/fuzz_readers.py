"""The target of all that reads what came from outside, alone: no world, no node, a hundred values in one input.

An input is the seed of its values, or a list of `[reader, value]`. A value is read or refused in a short text that
names no canary, in little time; canaries are neither read nor changed, nor are they there for who asks from outside.
"""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from fuzz_pages import messages as page_messages
from fuzz_schema import NUMBERS, TEXTS, Canaries, Generator, Walk, expanded, watch_files, worst_of
from fuzz_target import Target, place_of
from fuzz_vehicles import messages as conversations
from fuzz_worlds import COMMANDS

from fleet_sim import SimulationParams
from fleet_sim.apps.cli.schema import scenario_schema
from fleet_sim.apps.viewer.server import reason_to_refuse
from fleet_sim.base import files
from fleet_sim.base.errors import LONGEST_MESSAGE, FleetSimError, InvalidValueError
from fleet_sim.base.limits import OperatorFolder, read_json, searcher
from fleet_sim.base.request_budget import from_outside
from fleet_sim.base.scenario import SECTIONS
from fleet_sim.base.settings import parse_remote
from fleet_sim.robots.actions.registry import ACTIONS, parse_action_goal
from fleet_sim.warehouse.vda5050.messages import VERSIONS, WireMany, WireNumber, WireShape, WireText, WireTruth
from fleet_sim.warehouse.vda5050.order import Refused, action_of, order_of, zone_set_of
from fleet_sim.world.commands import Command

AT_ONCE = 100
"""Values of one seed."""
RARER = ("site", "text", "door", "building")
"""What takes ten times as long as the others, and gets a fifth of their values."""
SECONDS = 3.0
"""Of processor time that reading one value may take."""


class Reader(NamedTuple):
    """What makes values for something that reads, and what reads them; it raises FleetSimError, or tells why not."""

    make: Callable[[Random], Any]
    read: Callable[[Any], str | None]


def schema_of(kind: object) -> dict[str, Any]:
    """Return the JSON schema of what a message of VDA 5050 may hold at a place."""
    if isinstance(kind, WireShape):
        fields = {item.wire or name: item for name, item in kind.fields.items()}
        properties = {name: schema_of(item.kind) for name, item in fields.items()}
        needed = [name for name, item in fields.items() if item.required]
        return {"type": "object", "properties": properties, "required": needed}
    if isinstance(kind, WireMany):
        return {"type": "array", "items": schema_of(kind.kind), "minItems": kind.least, "maxItems": kind.most}
    if isinstance(kind, WireNumber):
        return {"type": "number", "minimum": kind.low, "maximum": kind.high}
    if isinstance(kind, WireText):
        return {"type": "string", **({"enum": [*kind.words.values()]} if kind.words else {})}
    return {"type": "boolean"} if isinstance(kind, WireTruth) else {"type": ["string", "number", "array"]}


def walked(schema: dict[str, Any]) -> Callable[[Random], Any]:
    """Return what makes documents of a schema with one place at one of its worst values."""
    places = list(Walk(schema).places())

    def make(random: Random) -> Any:
        _, values, build = random.choice(places)
        return build(random.choice(values))

    return make


def message_readers() -> dict[str, Reader]:
    """Return the readers of messages of VDA 5050, of all versions and topics."""

    def read(topic: str, shape: WireShape) -> Callable[[Any], None]:
        def message(value: Any) -> None:
            values = shape.read(read_json(json.dumps(value), topic))
            with suppress(Refused):
                if topic == "order":
                    order_of(values)
                elif topic == "instantActions":
                    list(map(action_of, values["actions"]))
                elif topic == "zoneSet":
                    zone_set_of(values["zoneSet"])

        return message

    def make(places: Callable[[Random], Any], valid: list[Any]) -> Callable[[Random], Any]:
        return lambda random: places(random) if random.random() < 0.5 else worst_of(random.choice(valid), random)

    found = {}
    for version, table in VERSIONS.items():
        header = {"headerId": 1, "timestamp": "2026-01-01T00:00:00Z", "version": table.number}
        header |= {"manufacturer": "fleet_sim", "serialNumber": "a"}
        said = [(topic, {**header, **body}) for one in conversations(version) for topic, body in one]
        for topic, shape in table.incoming.items():
            valid = [message for other, message in said if other == topic]
            found[f"vda5050 {version} {topic}"] = Reader(make(walked(schema_of(shape)), valid), read(topic, shape))
    return found


def page(value: Any) -> str | None:
    """Read a message as one of a page of the live view."""
    import msgspec.msgpack

    try:
        return reason_to_refuse(msgspec.msgpack.encode(value))
    except OverflowError:
        return "no MessagePack has such a number"


GOALS: dict[str, dict[str, Any]] = {
    "move": {"path": [[1, 0, 0], [2, 0, 0]], "timeout": 5},
    "move_to": {"target_pose": [1, 0, 0], "tolerance": 0.1},
    "pick": {"target_object_id": 1, "use_approach": True, "attach_relative_pose": [0, 0, 0]},
    "drop": {"drop_pose": [1, 0, 0], "place_gently": True},
    "wait": {"duration": 1.0},
    "joint": {"target_joint_positions": [0.1], "tolerance": 0.1},
    "joint_trajectory": {"joint_names": ["a"], "positions": [[0.1]], "times": [1.0]},
    "pose": {"target_position": [1, 0, 0.5]},
    "tour": {"path": [[1, 0, 0], [2, 0, 0]]},
    "drive_by": {"target": [1, 0, 0], "speed": 0.5},
    "turn": {"angle": 1.0},
    "teleop": {"timeout": 1.0},
    "follow": {"path": [[1, 0, 0], [2, 0, 0]]},
}
"""Parameters of actions, for places to begin with."""


WORST = (*NUMBERS, *TEXTS, None, [], {}, [[0, 0, 0]] * 2000, [0, 0, 0], {"position": [0, 0, 0]})


@cache
def parameters_of(name: str) -> list[str]:
    """Return the parameters of an action by name."""
    return [*inspect.signature(ACTIONS.get(name)).parameters]


def goal(random: Random) -> Any:
    """Return an action by name, with one of its parameters at its worst."""
    name = random.choice(ACTIONS.names())
    return [name, {**GOALS.get(name, {}), random.choice(parameters_of(name)): random.choice(WORST)}]


def door(folder: Path) -> Callable[[str], None]:
    """Return what asks the door to files for a name, from outside: nothing is there, and nothing is written."""

    def ask(name: str) -> None:
        for look in (files.is_file, files.is_folder, files.exists):
            assert not look(name), f"{look.__name__} tells that there is something"
        assert not (files.listed(name) or files.names_in(name) or list(files.walked(name))), "a folder is listed"
        for act in (files.opened, files.read_bytes, files.status, files.to_read, files.check_target):
            refused(act, name)
        refused(files.write_file, name, "x")
        with files.remote_input(output=folder):
            target = folder / name
            with suppress(FleetSimError, OSError):
                files.write_file(target, "x")
                # It may be new, in the folder, and then it is there for the operator.
                with files.operator_input():
                    assert target.resolve().is_relative_to(folder), "a file outside was written"
                    files.remove(target)

    return ask


def refused(act: Callable[..., object], *arguments: object) -> None:
    """Raise AssertionError where something is done that must not be."""
    with suppress(FleetSimError, OSError):
        act(*arguments)
        raise AssertionError(f"{getattr(act, '__name__', act)} is not refused")


def states(folder: Path) -> Callable[[str], None]:
    """Return what asks a folder of the operator for files by name; links in it lead out of it."""
    (folder / "link.state").symlink_to("/etc/passwd")
    (folder / "up").symlink_to("/")
    gate = OperatorFolder(str(folder), ".state", "there is none")

    def ask(name: str) -> None:
        for file in (gate.file_to_write(name), gate.file_to_read(name)):
            assert file.resolve().is_relative_to(folder), f"{name} leads out of the folder"

    return ask


def readers(canaries: Canaries, own: Path) -> dict[str, Reader]:
    """Return all readers by name; `own` is a folder that may be written to."""
    generator, sections = Generator(), SECTIONS.all()
    names = (*TEXTS, *(f"../{name}" for name in Canaries.NAMES), "link.state", "up/etc/passwd", "new.state")

    def section(name: str) -> Callable[[Random], Any]:
        return lambda random: generator.scenario(random, name)[name]

    found = {name: Reader(section(name), sections[name].check) for name in sections if name in generator.sections}
    found |= message_readers()
    inner = walked({**scenario_schema()["properties"]["simulation"], "$defs": scenario_schema().get("$defs", {})})
    said = page_messages("x" * 36)

    def name_of(random: Random) -> str:
        name = random.choice(names)
        return name + random.choice(("", "", "/", ".state", "/../a.csv", "\0"))

    def matched(given: list[str]) -> None:
        searcher(given[0])(given[1])

    return found | {
        "simulation": Reader(inner, lambda value: SimulationParams.from_dict(value) and None),
        "page": Reader(lambda random: worst_of(random.choice(said), random), page),
        "command": Reader(
            lambda random: worst_of(random.choice(COMMANDS), random), lambda value: Command.from_dict(value) and None
        ),
        "action": Reader(goal, lambda value: parse_action_goal(*value) and None),
        "text": Reader(lambda random: random.choice(TEXTS), lambda value: parse_remote(value, "text") and None),
        "pattern": Reader(lambda random: [generator.pattern(random), random.choice(TEXTS)], matched),
        "door": Reader(name_of, door(own)),
        "folder": Reader(name_of, states(own)),
    }


def readers_target() -> Target:
    """Return the target."""
    canaries, folder = Canaries(), Canaries.empty()
    known, count = readers(canaries, folder), [0]
    names, place = list(known), str(canaries.folder)
    weights = [1 if name in RARER else 5 for name in names]
    noted: list[str] = []
    watch_files(canaries.folder, noted.append)

    def one(name: str, value: Any) -> str:
        begin, told = time.thread_time(), ""
        try:
            with from_outside():
                told = known[name].read(expanded(value, place)) or ""
        except FleetSimError as error:
            told = str(error)
        assert time.thread_time() - begin < SECONDS, f"it took more than {SECONDS:g} s of processor time"
        assert len(told) <= LONGEST_MESSAGE + 100, f"a refusal of {len(told)} characters"
        canaries.check(noted, told)
        return told

    def feed(data: bytes) -> str | None:
        try:
            tree = json.loads(data)
            if isinstance(tree, dict):
                random, number = Random(tree["seed"]), tree["count"]
                chosen = random.choices(names, weights, k=min(number, AT_ONCE))
                tree = [[name, known[name].make(random)] for name in chosen]
            assert all(name in known for name, _ in tree)
        except (ValueError, LookupError, TypeError, RecursionError, AssertionError) as error:
            raise InvalidValueError("no input") from error
        refusals = 0
        with files.remote_input():
            for name, value in tree:
                count[0] += 1
                noted.clear()
                try:
                    refusals += bool(one(name, value))
                # Whatever it is: the input has many values, and this says which.
                except Exception as error:
                    what = f"{type(error).__name__} {place_of(error)} {error}"[:300]
                    raise AssertionError(f"{name}: {what}: {json.dumps([name, value])[:3000]}") from error
        canaries.check_unchanged()
        if refusals == len(tree):
            raise InvalidValueError("all of them were refused")
        return None

    def mutate(data: bytes, random: Random) -> bytes:
        return json.dumps({"seed": random.getrandbits(48), "count": AT_ONCE}).encode()

    seeds = [json.dumps([["text", "{a: 1}"], ["pattern", ["a*", "aaa"]]]).encode()]
    return Target(feed, seeds, (), (FleetSimError,), mutate, 1.0, seconds=60.0, operations=lambda: count[0])
