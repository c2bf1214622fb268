"""The target that walks schemas: each text, number and list of all that may arrive is set to its worst values.

Scenarios by their JSON schema, messages of vehicles and pages by valid ones. What is told of an input must name no
canary, canaries are neither read nor changed, and an input is dealt with in time and memory.
"""

from __future__ import annotations

import atexit
import copy
import json
import math
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from fuzz_scenarios import places_in
from fuzz_target import Target
from fuzz_worlds import new_simulation

from fleet_sim.apps.cli.schema import scenario_schema
from fleet_sim.base.errors import FleetSimError, InvalidValueError
from fleet_sim.base.files import remote_input
from fleet_sim.base.limits import searcher
from fleet_sim.base.scenario import SECTIONS
from fleet_sim.base.settings import parse_remote
from fleet_sim.robots.dispatch import LoadWorld
from fleet_sim.swarm.registry import world_schema
from fleet_sim.world.commands import Spawn

SECRET = "canary-in-the-mine"
"""Stands in each canary, and must never be told."""
LONGEST_NAME = 255

# Canaries: files that nobody outside may read, overwrite, name or ask for.


class Canaries:
    """A folder of files, and what touched them. `{canary}` in a text stands for the folder."""

    NAMES = (
        "a.csv",
        "a.yaml",
        "a.json",
        "a.png",
        "a.svg",
        "a.obj",
        "a.urdf",
        "a.gif",
        "a.mcap",
        "a.txt",
        "a.building.yaml",
    )

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz_canaries_")).resolve()
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        for name in self.NAMES:
            (self.folder / name).write_text(f"{SECRET}\n1,2,3\n", encoding="utf-8")
        (self.folder / "link.csv").symlink_to(self.folder / "a.csv")
        self.state = self._state()

    @staticmethod
    def empty() -> Path:
        """Return another folder, with nothing in it."""
        folder = Path(tempfile.mkdtemp(prefix="fuzz_folder_")).resolve()
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def _state(self) -> dict[str, tuple[int, int]]:
        found = {path.name: path.stat() for path in sorted(self.folder.iterdir())}
        return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in found.items()}

    def check_unchanged(self) -> None:
        """Raise AssertionError where a canary was changed, or a file is new beside them."""
        now = self._state()
        changed = sorted(name for name in {*now, *self.state} if now.get(name) != self.state.get(name))
        self.state = now
        assert not changed, f"a file of the host was written: {' and '.join(changed)}"

    def check(self, touched: list[str], told: str) -> None:
        """Raise AssertionError where a canary was touched or told of."""
        assert not touched, f"a file of the host was opened: {' and '.join(sorted(set(touched))[:3])}"
        assert SECRET not in told, f"the content of a file of the host was told: {told[:200]}"
        # Who names one file is told of no other.
        others = [name for name in self.NAMES if told.count(name) and f"/{name}" not in told]
        assert not others, f"the names of files of the host were told: {told[:200]}"


def watch_files(folder: Path, note: Callable[[str], object]) -> None:
    """Call `note` with each file or folder below `folder` that this process opens, lists, changes or removes."""
    prefix = f"{folder}/"

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" or event.startswith("os."):
            for path in arguments[:2]:
                if isinstance(path, (str, bytes, os.PathLike)) and f"{os.fsdecode(path)}/".startswith(prefix):
                    note(f"{event} by {_ours()} {os.fsdecode(path)}")

    sys.addaudithook(hook)


def _ours() -> str:
    """Return the function of the package that is running."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and "/src/fleet_sim/" not in frame.f_code.co_filename:
        frame = frame.f_back
    return "nobody" if frame is None else f"{Path(frame.f_code.co_filename).stem} {frame.f_code.co_name}"


# The worst values. Long texts are written as `{long 900000}` in an input, so that inputs stay short.


PATTERNS = tuple(
    [("(" * depth) + inner + "){1000}" * depth for inner in ("", "a", "a*") for depth in (1, 2, 3, 4)]
    + [
        "^(a+)+b$",
        "(a|a)*b",
        "((a*)*)*",
        "a{1000}{1000}",
        "[" * 500,
        "(?=a)",
        "\\1",
        ".*" * 200,
        "(|){1000}",
        "(()*)*" * 50,
    ]
)
TEXTS = (
    *(f"{{canary}}/{name}" for name in (*Canaries.NAMES, "link.csv", "nothing.csv", "nothing.yaml", "")),
    *(
        "/etc/passwd",
        "/dev/zero",
        "../../../etc/passwd",
        "file:///etc/passwd",
        "package://fleet_sim/../../../../etc/passwd",
    ),
    *(
        "<iframe srcdoc='<script>1</script>'></iframe>",
        "![p]({canary}/a.png)",
        "os.system",
        "os:system",
        "\x00",
        "a\nb",
        "\u202e",
        "\x1b[2J\x9b31m",
        "=1+1",
    ),
    *(
        "{long 256}",
        "{long 90000}",
        "{long 900000}",
        "",
        "~",
        "${HOME}",
        "!include {canary}/a.yaml",
        "null",
        "1e999",
        "{{1+1}}",
    ),
    *PATTERNS,
)
NUMBERS = (0, -1, 1, -0.0, 5e-324, 1e300, -1e300, math.nan, math.inf, -math.inf, 2**31, 2**53, 2**63, 10**30, 1e-9)
LENGTHS = (0, 1, 3, 100, 2000)


def expanded(value: Any, folder: str) -> Any:
    """Return an input with what its texts stand for."""
    if isinstance(value, str):
        text = value.replace("{canary}", folder)
        return (
            re.sub(r"\{long (\d+)\}", lambda found: "x" * min(int(found[1][:9]), 10**6), text)
            if "{long" in text
            else text
        )
    if isinstance(value, list):
        if len(value) > 1 and len(set(map(id, value))) == 1:
            # Long lists hold one thing many times.
            return [expanded(value[0], folder)] * len(value)
        return [expanded(one, folder) for one in value]
    if isinstance(value, dict):
        return {expanded(key, folder): expanded(one, folder) for key, one in value.items()}
    return value


# Walking a JSON schema: a document for each place in it, in which all else is as small as may be.


Build = Callable[[Any], Any]
Place = tuple[str, tuple[Any, ...], Build]
"""The name of a setting, values that it should have in turn, and what makes a document of one of them."""
NAMES_OF_FILES = re.compile("path|file|map|mesh|folder|uri")
DEEPEST = 9


class Walk:
    """The places of a schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._definitions = schema.get("$defs", {})
        self._walked: set[str] = set()

    def places(self, schema: Mapping[str, Any] | None = None) -> Iterator[Place]:
        """Yield all places."""
        yield from self._places(self._schema if schema is None else schema, lambda value: value, 0, "")

    def _branches(self, schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if "$ref" in schema:
            yield from self._branches(self._definitions[schema["$ref"].rsplit("/", 1)[1]])
        elif "anyOf" in schema or "oneOf" in schema:
            rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
            for branch in schema.get("anyOf", ()) or schema["oneOf"]:
                yield from self._branches({**branch, **rest})
        elif any("if" in case for case in schema.get("allOf", ())):
            # What else there may be goes with the value of one, such as the type.
            for case in schema["allOf"]:
                fixed, then = case["if"]["properties"], case["then"]
                yield {**then, "properties": {**then.get("properties", {}), **fixed}}
        else:
            yield schema

    def _places(self, schema: Mapping[str, Any], build: Build, depth: int, name: str) -> Iterator[Place]:
        # What many parts have in common, such as the agents of spawners, is walked in the first of them.
        common = schema.get("$ref", "")
        if depth > DEEPEST or common in self._walked:
            return
        self._walked |= {common} - {""}
        for branch in self._branches(schema):
            kinds = branch.get("type", [])
            kinds = [kinds] if isinstance(kinds, str) else kinds
            if "properties" in branch:
                yield from self._of_object(branch, build, depth)
            if "array" in kinds or "items" in branch:
                items = branch.get("items", {})
                one = self.smallest(items)
                yield name, tuple([one] * length for length in (*LENGTHS, min(branch.get("maxItems", 0), 5000))), build
                yield from self._places(items, lambda value: build([value]), depth + 1, name)
            if {"number", "integer"} & {*kinds}:
                ends = [branch[key] for key in ("minimum", "maximum", "exclusiveMaximum") if key in branch]
                yield name, (*ends, *(end + step for end in ends for step in (-1, 1)), *NUMBERS), build
            if "string" in kinds or "enum" in branch:
                yield name, (*branch.get("enum", ()), *TEXTS), build

    def _of_object(self, branch: Mapping[str, Any], build: Build, depth: int) -> Iterator[Place]:
        properties = branch["properties"]
        needed = {name: self.smallest(properties[name]) for name in branch.get("required", ()) if name in properties}
        needed |= {name: part["const"] for name, part in properties.items() if "const" in part}
        # All numbers of a thing at their ends: each may be harmless alone.
        ends = {
            key: {name: part[key] for name, all_ in properties.items() for part in self._branches(all_) if key in part}
            for key in ("maximum", "minimum")
        }
        yield "", tuple({**end, **needed, **more} for end in ends.values() for more in ({}, {"rate": None})), build
        if depth:
            yield "", tuple([{**ends["maximum"], **needed}] * count for count in (20, 100)), build
            # What is refused with all at their ends may be taken a hundred times over with nothing but its kind.
            yield "", ([needed] * 100,), build
        for name, part in properties.items():
            yield from self._places(part, lambda value, name=name: build({**needed, name: value}), depth + 1, name)

    def smallest(self, schema: Mapping[str, Any], depth: int = 0) -> Any:
        """Return a small value that a schema allows."""
        # Of a text and a thing, the thing: its type is one that exists.
        branch = next((one for one in self._branches(schema) if "properties" in one), next(self._branches(schema)))
        if "const" in branch or branch.get("enum"):
            return branch.get("const", (branch.get("enum") or [None])[0])
        kinds = branch.get("type", "string" if "properties" not in branch else "object")
        kind = kinds if isinstance(kinds, str) else kinds[0]
        if kind == "object":
            known = branch.get("properties", {})
            wanted = [name for name in known if name in branch.get("required", ()) or "const" in known[name]]
            return {name: self.smallest(known[name], depth + 1) for name in wanted} if depth < DEEPEST else {}
        if kind == "array":
            return [self.smallest(branch.get("items", {}), depth + 1)] * branch.get("minItems", 0) if depth < 5 else []
        if kind in ("number", "integer"):
            return max(
                branch.get("minimum", 0), branch.get("exclusiveMinimum", 0) + 1 if "exclusiveMinimum" in branch else 0
            )
        return {"boolean": False, "null": None}.get(kind, "r")


_BOX = {"shape_type": "box", "half_extents": [0.2, 0.2, 0.1]}
ROBOT = {"name": "r", "shape": _BOX, "pose": [0, 0, 0.1]}
SITE = "config/sites/maps/office.yaml"
ANYWHERE = [[-50, -50], [50, -50], [50, 50], [-50, 50]]
BASES: dict[str, dict[str, Any]] = {
    "swarm": {
        "swarm": {
            "type": "RectangularWorld",
            "size": [20, 20],
            "agents": [{"type": "MazeAgent", "position": [3, 3]}],
            "metrics": ["Polarization"],
        }
    },
    "orders": {"robots": [{**ROBOT, "at": "free"}], "site": SITE},
    "traffic": {"robots": [{"name": "r", "shape": _BOX, "at": {"count": 30}}], "site": SITE},
    "tasks": {"robots": [ROBOT], "site": SITE},
    "people": {"robots": [ROBOT], "site": SITE},
}
"""What a section needs besides itself before it is read to its end."""


def documents() -> list[tuple[str, Place]]:
    """Return the places of all scenarios, with their sections."""
    found = []
    schema = scenario_schema()
    for section, part in schema["properties"].items():
        if section == "simulation":
            continue
        walk = Walk(world_schema()) if section == "swarm" else Walk({**part, "$defs": schema.get("$defs", {})})
        base = BASES.get(section, {"robots": [ROBOT]} if section != "robots" else {})
        for name, values, build in walk.places():
            found.append((section, (name, values, _in_section(section, base, build))))
    return found


def _in_section(section: str, base: dict[str, Any], build: Build) -> Build:
    def scenario(value: Any) -> Any:
        made = build(value)
        own = base.get(section)
        # A swarm's own parts stay beside the one that is tried.
        merged = {**own, **made} if isinstance(own, dict) and isinstance(made, dict) else made
        if section == "robots" and isinstance(made, list):
            merged = [{**ROBOT, **one} if isinstance(one, dict) else one for one in made]
        if section == "people" and isinstance(made, dict) and isinstance(made.get("groups"), list):
            # People who come, to somewhere that is there: otherwise nothing else is looked at.
            groups = [{"count": 1, **one} if isinstance(one, dict) else one for one in made["groups"]]
            for group in groups:
                if isinstance(group, dict) and group.get("visits") == ["r"]:
                    group["visits"] = [ANYWHERE]
            merged = {**made, "groups": groups}
        return {**base, section: merged}

    return scenario


MANY = 4000
"""A setting that may be as large as this counts something, such as pixels, rays or agents."""


def _is_count(value: object) -> bool:
    return type(value) is int


class Generator:
    """Inputs as JSON: where one goes, and what it is. The same `random` makes the same ones."""

    def __init__(self) -> None:
        self._places = documents()
        self.sections: dict[str, dict[str, list[int]]] = {}
        self._files: dict[str, list[int]] = {}
        self._counts: dict[str, dict[str, list[int]]] = {}
        for index, (section, (name, values, build)) in enumerate(self._places):
            if NAMES_OF_FILES.search(name) and "" in values:
                self._files.setdefault(section, []).append(index)
            probe = build(0)[section]
            one = probe[0] if isinstance(probe, list) and probe else probe
            group = " ".join(one) if isinstance(one, dict) else "itself"
            self.sections.setdefault(section, {}).setdefault(group, []).append(index)
            if name and isinstance(values[0], int) and max(filter(_is_count, values[:2]), default=0) >= MANY:
                self._counts.setdefault(section, {}).setdefault(group, []).append(index)

    def scenario(self, random: Random, section: str = "") -> Any:
        """Return a scenario with one place at one of its worst values, now and then with a second one."""
        section = section or random.choice(list(self.sections))
        groups, files, counts = self.sections[section], self._files.get(section, []), self._counts.get(section, {})
        if files and random.random() < 0.3:
            _, (_, values, build) = self._places[random.choice(files)]
            values = [value for value in values if isinstance(value, str) and "/" in value]
        elif counts and random.random() < 0.2:
            _, (_, values, build) = self._places[random.choice(counts[random.choice(list(counts))])]
            values = [max(filter(_is_count, values[:2]))]
        else:
            # Each setting of a section as often as the others: agents of swarms have most of the places.
            _, (_, values, build) = self._places[random.choice(groups[random.choice(list(groups))])]
        scenario = build(random.choice(values))
        if section in ("robots", "objects") and random.random() < 0.1:
            scenario = {section: [{**one, **self.crowd(random)} for one in scenario[section] if isinstance(one, dict)]}
        if random.random() < 0.1:
            scenario = {**self.scenario(random), **scenario}
        return scenario

    @staticmethod
    def crowd(random: Random) -> dict[str, Any]:
        """Return what makes thousands of an entry, as many as one message may ask for: apart, or in each other."""
        apart = random.choice(([2, 2, 0], [0, 0, 0], [1e-6, 0, 0]))
        model = random.choice(
            ({}, {"urdf_path": "mobile_manipulator"}, {"shape": {"shape_type": "sphere", "radius": 50}})
        )
        return {"grid": {"count": random.choice((3000, 9000)), "columns": 60, "spacing": apart}, **model}

    def input(self, random: Random) -> dict[str, Any]:
        """Return an input of the target."""
        chance = random.random()
        if chance < 0.60:
            section = random.choice([name for name in self.sections if name in SECTIONS.all()])
            return {"to": "read", "section": section, "value": self.scenario(random, section)[section]}
        if chance < 0.70:
            return {"to": "pattern", "value": self.pattern(random), "name": random.choice(TEXTS)}
        if chance < 0.80:
            return {"to": "text", "value": random.choice(TEXTS)}
        if chance < 0.94:
            (entry,) = self.scenario(random, "robots")["robots"][:1] or [{}]
            if random.random() < 0.2:
                entry = {**ROBOT, "name": random.choice(TEXTS)}
            return {"to": "spawn", "value": entry if isinstance(entry, dict) else {"name": entry}}
        return {"to": "world", "value": self.scenario(random)}

    @staticmethod
    def pattern(random: Random) -> str:
        """Return an expression: one of the worst, or groups in groups."""
        if random.random() < 0.3:
            return random.choice(PATTERNS)
        text = random.choice(("", "a", ".", "[a-z]", "\\d"))
        for _ in range(random.randrange(1, 7)):
            text = random.choice(
                ("({})", "({}|a)", "({})*", "({})+", "({}){{1000}}", "{0}{0}", "({})?", "^{}$")
            ).format(text)
        return text


def schema_target() -> Target:
    """Return the target: readers and the gate in this process."""
    generator, canaries = Generator(), Canaries()
    touched: list[str] = []
    watch_files(canaries.folder, touched.append)
    sections = SECTIONS.all()
    sim = new_simulation()

    def command(given: Any) -> str:
        answer = sim.inbox.put(given)
        sim.step_once()
        sim.step_once()
        ack = answer.result(0)
        names = [one.name for one in sim.sim_objects if len(one.name) > LONGEST_NAME]
        assert not names, f"a name of {len(names[0])} characters was taken"
        return "" if ack.ok else " ".join(map(str, ack.rejected.values()))

    def answer(to: str, tree: dict[str, Any], value: Any) -> str:
        if to == "read":
            with remote_input():
                sections[tree["section"]].check(value)
        elif to == "pattern":
            searcher(value)(expanded(tree["name"], str(canaries.folder)))
        elif to == "text":
            parse_remote(value, "text")
        elif to == "spawn":
            return command(Spawn(robots=({"name": "new", **value},), remote=True))
        elif to == "world":
            if not isinstance(value, dict):
                raise InvalidValueError("no scenario")
            return command(LoadWorld(scenario=value, remote=True))
        return ""

    def feed(data: bytes) -> str | None:
        try:
            tree = json.loads(data)
            to, value = tree["to"], expanded(tree["value"], str(canaries.folder))
            tree.setdefault("name", ""), sections[tree.setdefault("section", "site")]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise InvalidValueError("no input") from error
        touched.clear()
        told = ""
        try:
            told = answer(to, tree, value)
        except FleetSimError as error:
            told = str(error)
            raise
        finally:
            seen = list(touched)
            if to in ("spawn", "world"):
                sim.clear()
                canaries.check_unchanged()
            canaries.check(seen, told)
        return f"refused: {told[:30]}" if told else None

    def mutate(data: bytes, random: Random) -> bytes:
        made = json.dumps(generator.input(random)).encode()
        return made if len(made) < 1 << 16 else data

    seeds = [
        json.dumps({"to": "spawn", "value": ROBOT}).encode(),
        json.dumps({"to": "world", "value": {"robots": [ROBOT]}}).encode(),
        json.dumps({"to": "pattern", "value": "a*", "name": "aaa"}).encode(),
    ]
    return Target(feed, seeds, (), (FleetSimError,), mutate, mutate_share=0.98, seconds=8.0)


def worst_of(message: Any, random: Random) -> Any:
    """Return a copy of a message, given as JSON has it, with one value at its worst."""
    made = copy.deepcopy(message)
    holder, key = random.choice(list(places_in(made)))
    before, chance = holder[key], random.random()
    if chance < 0.1:
        holder[key] = random.choice((None, True, [], {}, [[]], {"value": 7.5}, [0.0] * 3))
    elif isinstance(before, list) and before:
        holder[key] = before * random.choice((0, 2, 100, 2000))
    elif isinstance(before, str) == (chance < 0.9):
        holder[key] = random.choice(TEXTS)
    else:
        holder[key] = random.choice(NUMBERS)
    return made
