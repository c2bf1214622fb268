"""State files that are not as they were written: each is refused with the reason, and nothing changes."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import state_hall
from hashed_run import hashed_run

import fleet_sim as fs
from fleet_sim.world.state_files import read_archive, write_archive

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]


@pytest.fixture
def kept(make_sim: MakeSim, tmp_path: Path) -> Iterator[tuple[Sim, Path]]:
    """Return a simulation and a file of an earlier state of it; afterwards the simulation is as it was."""
    sim = make_sim()
    state_hall.fill(sim)
    hashed_run(sim, 5)
    file = tmp_path / "kept.state"
    sim.save_state(file)
    hashed_run(sim, 5)
    before = sim.state_hash()
    yield sim, file
    assert sim.state_hash() == before
    # It goes on, too.
    hashed_run(sim, 2)


def refused(sim: Sim, file: Path, message: str) -> None:
    with pytest.raises(fs.StateFileError, match=message) as caught:
        sim.load_state(file)
    assert str(file) in str(caught.value)


def test_a_file_that_is_not_as_it_was_written_is_refused(kept: tuple[Sim, Path]) -> None:
    sim, file = kept
    data = file.read_bytes()
    for length in (0, 10, 60, 100, len(data) // 2, len(data) - 1):
        file.write_bytes(data[:length])
        refused(sim, file, "cut off|not a state file")
    for place in range(90, len(data), 4001):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        refused(sim, file, "damaged or was changed")
    file.write_bytes(data.replace(b"state 1", b"state 9", 1))
    refused(sim, file, "its format is version '9', and this fleet_sim reads version 1")
    file.write_bytes(b"\x80\x04pickle")
    refused(sim, file, "not a state file")
    refused(sim, file.with_name("none"), "No such file")


def test_a_file_of_another_version_or_scenario_is_refused(kept: tuple[Sim, Path], make_sim: MakeSim) -> None:
    sim, file = kept
    other = make_sim(seed=3)
    refused(other, file, r"another scenario \(made in code\).* simulation\.seed")
    content, arrays = read_archive(file)
    write_archive(file, {**content, "version": "0.0.9"}, arrays)
    refused(sim, file, "written by fleet_sim 0.0.9")


FORGED: dict[str, tuple[Any, Any, str]] = {
    "an unknown form": ("entity", "os.system", "does not know what 'os.system' is"),
    "an unknown class": ("Pose", "Popen", "no class 'Popen' is known"),
    "an unknown action": ("move_to", "rm", "unknown action 'rm'"),
    "an unknown law": ("differential", "nowhere", "unknown motion law 'nowhere'"),
    "an attribute that is code": ("_position", "distance_to", "no attribute 'distance_to'"),
    "another hash": ("hash", "hush", "not as it was written"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_names_in_a_file_are_checked(kind: str, kept: tuple[Sim, Path]) -> None:
    sim, file = kept
    old, new, message = FORGED[kind]
    content, arrays = read_archive(file)
    text = json.dumps(content)
    assert f'"{old}"' in text
    write_archive(file, json.loads(text.replace(f'"{old}"', f'"{new}"')), arrays)
    refused(sim, file, message)


def test_numbers_in_a_file_are_checked(kept: tuple[Sim, Path]) -> None:
    sim, file = kept
    content, arrays = read_archive(file)
    before = sim.save_state()
    for number, array in list(enumerate(arrays))[::4]:
        wrong = (array[:-1] if array.ndim else array[None], array.astype(np.float32), far(array))[number // 4 % 3]
        write_archive(file, content, [*arrays[:number], wrong, *arrays[number + 1 :]])
        try:
            sim.load_state(file)
        except fs.StateFileError:
            continue
        # What no step depends on may be anything.
        assert sim.state_hash() == content["hash"]
    sim.restore_state(before)


def far(array: Any) -> Any:
    """Return numbers far beyond all that is there."""
    return ~array if array.dtype.kind == "b" else np.full_like(array, 100 if array.dtype.itemsize == 1 else 10**9 + 7)


def test_pickled_objects_are_refused(kept: tuple[Sim, Path]) -> None:
    sim, file = kept
    content, arrays = read_archive(file)
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_archive(file, content, [np.array([print], object), *arrays[1:]])
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr("state.json", json.dumps(content))
        for place in range(len(arrays)):
            with archive.open(f"{place}.npy", "w") as member:
                np.lib.format.write_array(member, np.array([Pickled()], object), allow_pickle=True)
    data = body.getvalue()
    file.write_bytes(b"fleet_sim state 1\n" + f"{hashlib.sha256(data).hexdigest()} {len(data)}\n".encode() + data)
    refused(sim, file, "is not what was written")


class Pickled:
    """Something whose reading would run code."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("it was unpickled",)


@pytest.mark.parametrize("path", ["", ".", Path(), "/no/such/folder/now.state"])
def test_where_no_file_can_be_is_said(make_sim: MakeSim, path: str | Path) -> None:
    with pytest.raises(fs.InvalidValueError):
        make_sim().save_state(path)
