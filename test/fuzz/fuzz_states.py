"""Target: state files. Half of the mutants have a checksum that fits,
so that what is in them is read, and a simulation goes on with it.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
import zipfile
import zlib
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import state_hall
from fuzz_files import Files
from fuzz_target import Target
from fuzz_worlds import check_columns

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.errors import StateFileError
from fleet_sim.warehouse.sites import Warehouse, write_site

FIRST = b"fleet_sim state 3\n"
STEPS = 3
"""Made from a state that was taken."""


def hall() -> MultiRobotSimulationCore:
    """Return a hall in which much happens, a traffic with orders and sensors among it."""
    folder = Path(tempfile.mkdtemp(prefix="fleet_sim-fuzz-"))
    write_site(Warehouse(rows=1, columns=1).site("hall"), folder / "hall.yaml")
    robot = {"name": "amr", "at": {"site": "free", "count": 4}, "shape": {"shape_type": "cylinder", "radius": 0.3}}
    sensor = {"type": "lidar", "rays": 4, "rate": 5.0}
    scenario = {
        "simulation": {"gui": False, "monitor": False, "target_rtf": 0, "timestep": 0.1},
        "site": {"map": str(folder / "hall.yaml")},
        "robots": [{**robot, "sensors": [sensor], "battery": {}}],
        "traffic": {"planner": "pibt"},
        "tasks": {},
    }
    sim = MultiRobotSimulationCore.from_dict(scenario)
    state_hall.fill(sim)
    return sim


def states_target() -> Target:
    """Return the target of state files: they are loaded, or refused and the simulation stays as it was."""
    sim, files, seeds = hall(), Files(), []
    start, first = sim.save_state(), sim.state_hash()
    for index in range(2):
        for _ in range(4):
            sim.step_once()
        file = files.write(b"", "seed.state")
        sim.save_state(file)
        seeds.append(file.read_bytes())
        files.clean(file)
        if not index:
            state_hall.robot(sim, "late", 60.0)

    def feed(data: bytes) -> str | None:
        sim.restore_state(start)
        before, file = sim.state_hash(), files.write(data, "mutant.state")
        try:
            sim.load_state(file)
        except StateFileError:
            assert sim.state_hash() == before, "it was refused, and changed the simulation"
            raise
        finally:
            files.clean(file)
        check_columns(sim)
        if not _goes_on(sim):
            sim.restore_state(start)
            assert sim.state_hash() == first, "a step raised, and the simulation cannot be restored"
            sim.step_once()
            return "a step raised"
        check_columns(sim)
        return None

    words = [b'"same"', b'"array"', b'"as"', b'"object"', b'"entity"', b'"action"', b"null", b"-1", b"1e999", b"[]"]

    def forge(data: bytes, random: Random) -> bytes:
        # Most of what was kept is refused at its checksum: what is behind it is reached from whole files.
        return _forged(data if random.random() < 0.1 else random.choice(seeds), random)

    return Target(feed, seeds, words, mutate=forge, seconds=20.0)


def _goes_on(sim: MultiRobotSimulationCore) -> bool:
    """Make some steps; whether none raised, which one may."""
    try:
        for _ in range(STEPS):
            sim.step_once()
    # Numbers that one part alone understands are checked for their kind only.
    except Exception:
        return False
    return True


def _forged(data: bytes, random: Random) -> bytes:
    """Return a file whose JSON or one of whose arrays is another, with a checksum that fits."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
    # A mutant that is no archive any more has a checksum of its own at least.
    except (zipfile.BadZipFile, ValueError, KeyError, zlib.error, EOFError, NotImplementedError, RuntimeError):
        return _signed(data)
    if random.random() < 0.5:
        name = random.choice([name for name in entries if name != "state.json"])
        array = np.load(io.BytesIO(entries[name]), allow_pickle=False).copy()
        _change(array, random)
        stream = io.BytesIO()
        np.save(stream, array, allow_pickle=False)
        entries[name] = stream.getvalue()
    else:
        entries["state.json"] = _other(entries["state.json"].decode(), random).encode()
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return _signed(body.getvalue())


def _signed(content: bytes) -> bytes:
    return FIRST + f"{sha256(content).hexdigest()} {len(content)}\n".encode() + content


def _change(array: Any, random: Random) -> None:
    if array.size:
        numbers = [0, 1, 255, 1 << 62] if array.dtype.kind in "iub" else [0.0, -1.0, 1e9, 1e308, np.nan, np.inf]
        with np.errstate(all="ignore"):
            array.reshape(-1)[random.randrange(array.size)] = np.array(random.choice(numbers)).astype(array.dtype)


def _other(text: str, random: Random) -> str:
    """Return JSON with a few of its values replaced by others of it, or by odd ones."""
    values = [match.span() for match in re.finditer(r'"[^"]*"|-?\d+(\.\d+)?|null|true|false', text)]
    odd = ["null", "-1", "1e300", "99999999999", '""', "[]", "{}", '{"same":0}', '{"array":3}', "true"]
    for _ in range(random.randint(1, 3)):
        begin, end = random.choice(values)
        first, last = random.choice(values)
        new = random.choice(odd) if random.random() < 0.5 else text[first:last]
        changed = text[:begin] + new + text[end:]
        try:
            json.loads(changed)
        except ValueError:
            continue
        text = changed
        values = [match.span() for match in re.finditer(r'"[^"]*"|-?\d+(\.\d+)?|null|true|false', text)]
    return text
