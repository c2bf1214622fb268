"""Kernels: what is compiled gives what Python gives, and says what it needs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from fresh_python import words_of

from fleet_sim.apps.verification import quiet, shipped
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import MissingDependencyError
from fleet_sim.base.kernels import Kernel, compiled
from fleet_sim.base.settings import load_mapping
from fleet_sim.sensing.sensors.lidar import LidarParams
from fleet_sim.simulation import MultiRobotSimulationCore


@compiled
def double(value: float) -> float:
    """Return twice the value."""
    return 2.0 * value


@compiled
def total(values: Floats) -> float:
    """Return twice the sum, with another kernel."""
    found = 0.0
    for value in values:
        found += double(value)
    return found


def test_a_kernel_gives_what_its_function_gives() -> None:
    values = np.arange(5.0)
    assert total(values) == total.function(values) == 20.0
    assert total.__doc__ == "Return twice the sum, with another kernel."


FILES = {
    "lower.py": "FACTOR = 2\n@compiled\ndef lower(value):\n    return FACTOR * value\n",
    "upper.py": "from lower import lower\n@compiled\ndef upper(value):\n    return lower(value) + 1\n",
}


@pytest.mark.slow
def test_a_change_in_another_file_is_seen_in_spite_of_the_cache(tmp_path: Path) -> None:
    # Numba alone looks at the file of the outermost function only.
    for factor in (2, 5):
        for name, code in FILES.items():
            text = "from fleet_sim.base.kernels import compiled\n" + code.replace("FACTOR = 2", f"FACTOR = {factor}")
            if not (tmp_path / name).is_file() or (tmp_path / name).read_text() != text:
                (tmp_path / name).write_text(text)
        code = "from upper import upper; print(upper(10))"
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
            )
            assert done.stdout.strip() == str(10 * factor + 1)


def test_without_numba_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fleet_sim\[fast\]'"):
        compiled(lambda value: value)(1.0)


def test_a_numba_that_refuses_this_numpy_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.0 or less')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    with pytest.raises(MissingDependencyError, match=r"Numba needs NumPy 2\.0 or less"):
        compiled(lambda value: value)(1.0)


def test_numba_is_loaded_by_the_first_call_only() -> None:
    code = (
        "import sys, fleet_sim, fleet_sim.warehouse.traffic as t; from "
        "fleet_sim.warehouse.traffic import Network, PLANNERS;"
        "PLANNERS.names(); print('numba' in sys.modules)"
    )
    assert words_of(code) == ["False"]


@pytest.mark.slow
def test_machine_code_kept_for_classes_that_are_gone_is_made_anew(tmp_path: Path) -> None:
    source = (
        "from typing import NamedTuple\nimport numpy as np\nfrom fleet_sim.base.kernels import compiled\n"
        "class Old(NamedTuple):\n    values: np.ndarray\n"
        "@compiled\ndef total(pair):\n    return pair.values.sum()\n"
        "print(total(Old(np.arange(4.0))))\n"
    )
    for name in ("Old", "New"):
        (tmp_path / "update.py").write_text(source.replace("Old", name))
        command = [sys.executable, "-c", "import update"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "6.0\n"), done.stderr


@pytest.mark.slow
def test_a_word_in_a_docstring_or_another_folder_or_file_compiles_nothing(tmp_path: Path) -> None:
    source = (
        "from fleet_sim.base.kernels import compiled\nfrom fleet_sim.base.kernels import compile_seconds\n"
        "FACTOR = {factor}\n# {words}\n@compiled\ndef times(number):\n    '''{words}'''\n    return number * FACTOR\n"
        "print(times(5), compile_seconds() > 0.0)\n"
    )
    seen = []
    runs = (("a/loops", "Multiply.", 7), ("b/rings", "Multiply a number.", 7), ("a/loops", "Multiply.", 8))
    for name, words, factor in runs:
        file = tmp_path / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(source.format(words=words, factor=factor))
        # Imported, as a kernel of the program itself is of no module that can be gone.
        done = subprocess.run(
            [sys.executable, "-c", f"import {file.stem}"],
            cwd=file.parent,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.append(done.stdout.split())
    assert seen == [["35", "True"], ["35", "False"], ["40", "True"]]


# ---- Python meanwhile, and a process that compiles -------------------------------------------------------------------


STEPS = 12


def states(name: str, use: str) -> list[str]:
    """The hashes of the first steps of a shipped scenario, and what its lidars read in the end."""
    file = shipped()[name]
    content = quiet(load_mapping(file))
    content["simulation"] = {**content.get("simulation", {}), "compiled_code": use}
    with MultiRobotSimulationCore.from_dict(content, source=str(file)) as sim:
        hashes = [sim.step_once() or sim.state_hash() for _ in range(STEPS)]
        assert sim.world.compiled or use == "never"
        lidars = [sensor for sensor in sim.sensors.all if isinstance(sensor.params, LidarParams)]
        return [*hashes, *(sensor.read().ranges.tobytes().hex() for sensor in lidars)]


TWINS = ["demo.yaml", "parking.yaml", "sensors.yaml", "flocking.yaml", "milling.yaml", "sites/goods_to_person.yaml"]


@pytest.mark.parametrize("name", TWINS)
def test_scenarios_go_in_python_as_they_go_compiled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr("fleet_sim.world.world.MANY_RAYS", 0)
    expected = states(name, "always")
    monkeypatch.setattr(Kernel, "__call__", Kernel._run_in_python)
    assert states(name, "never") == expected


# Floods a grid again and again, until machine code does it; prints what is said of it meanwhile.
FLOODS = """
import json, sys, time
import numpy as np
from fleet_sim.base import kernels
from fleet_sim.warehouse.traffic.network import flood
kernels.LOADING = kernels.PATIENCE = kernels.LOOK = 0.0
links = np.array([[1], [2], [-1], [0]], np.int32)
said, found = set(), set()
begin = time.monotonic()
while flood._machine_code is None and flood._next_look < 1e9:
    reached = np.ones(4, bool)
    flood(links, np.zeros(4, bool), 1, reached, np.zeros(4, np.int32))
    found.add(tuple(reached.tolist()))
    said.add(kernels.compiling())
    process = kernels._backlog._process
    if len(sys.argv) > 1 and process is not None:
        print(json.dumps(process.pid), flush=True)
        {then}
    # Leaves the processor to the other process.
    time.sleep(0.02)
flood(links, np.zeros(4, bool), 1, reached, np.zeros(4, np.int32))
found.add(tuple(reached.tolist()))
print(json.dumps([sorted(said), sorted(found), kernels.compile_seconds(), kernels.compiling()]))
"""


def floods(then: str, folder: Path, *args: str) -> subprocess.Popen[str]:
    """A process that floods, with a cache of its own."""
    command = [sys.executable, "-c", FLOODS.replace("{then}", then), *args]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def is_running(process: int) -> bool:
    """Whether a process is there, and not one that only waits for its parent to look."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def until_ended(process: int) -> bool:
    """Whether a process ends within some time, which is long on a busy machine."""
    for _ in range(600):
        if not is_running(process):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
def test_python_goes_on_until_another_process_has_compiled(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    out, errors = floods("", tmp_path).communicate(timeout=600)
    said, found, seconds, after = json.loads(out)
    assert said == ["", "compiling 1 of 1"] and after == "", errors
    assert found == [[False, True, True, False]], "in Python and compiled"
    assert seconds == 0.0 and not errors
    # Kept: the next process only loads it.
    said, *_ = json.loads(floods("", tmp_path).communicate(timeout=600)[0])
    assert said == [""]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_goes_on_compiling_when_the_program_has_ended(number: int, tmp_path: Path) -> None:
    pytest.importorskip("numba")
    program = floods("pass", tmp_path, "tell")
    assert program.stdout is not None
    compiler = json.loads(program.stdout.readline())
    program.send_signal(number)
    program.communicate(timeout=600)
    assert until_ended(compiler)


@pytest.mark.slow
def test_steps_go_on_in_python_where_the_process_that_compiles_is_gone(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    out, errors = floods("process.kill()", tmp_path, "tell").communicate(timeout=600)
    assert json.loads(out.splitlines()[-1])[1] == [[False, True, True, False]]
    assert "steps go on without compiled code" in errors


@pytest.mark.slow
def test_where_nothing_can_be_kept_the_program_compiles_for_itself(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    code = (
        "import errno, numba.core.caching as c\n"
        "def full(*_): raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "c.IndexDataCacheFile.save = full\n"
        "import fleet_sim.warehouse.traffic.network as n, numpy as np\n"
        "from fleet_sim.base.kernels import compile_at_first_call\n"
        "compile_at_first_call()\n"
        "reached = np.ones(2, bool)\n"
        "n.flood(np.array([[-1], [0]], np.int32), np.zeros(2, bool), 1, reached, np.zeros(2, np.int32))\n"
        "print(reached.tolist())"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "[True, True]\n", done.stderr
