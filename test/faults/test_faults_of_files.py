"""Killed while it writes, on a full disk, in a folder nobody may write to, short of files or memory.

What is promised: a file is whole or as it was before; one line says what is wrong; the exit code is 1.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from PIL import Image

import fleet_sim as fs
from fleet_sim.apps.record.message_types import STATE, McapFile
from fleet_sim.apps.record.writer_program import WriterProgram
from fleet_sim.base.files import refusals
from fleet_sim.world.commands import Frames

SWARM = ["swarm", "flocking.yaml", "--steps", "30"]
OUTPUTS = {
    "film.gif": [*SWARM, "--record"],
    "table.csv": [*SWARM, "--metrics"],
    "table.parquet": [*SWARM, "--metrics"],
    "film.mp4": [*SWARM, "--record"],
    "plot.png": [*SWARM, "--plot"],
    "picture.png": [*SWARM, "--picture"],
    "inputs.jsonl": ["run", "arm.yaml", "--headless", "--duration", "0.1", "--rtf", "0", "--record-inputs"],
    "run.state": ["run", "arm.yaml", "--headless", "--duration", "0.1", "--rtf", "0", "--save-state"],
    "run.mcap": ["run", "arm.yaml", "--headless", "--duration", "0.1", "--rtf", "0", "--record"],
}
# Long and narrow: pictures of it are small and cost little. No two are the same: a film would have one of them only.
NARROW = """
size: [64, 8]
time_step: 0.05
spawners:
  - type: UniformAgentSpawner
    n: 5
    agent: {type: MazeAgent, agent_radius: 0.2, controller: {type: StaticController, output: [3.0, 2.0]}}
metrics: [Polarization]
"""
TABLE = """
import sys
import threading
from fleet_sim.swarm.members import MetricTable
table = MetricTable(sys.argv[1])
print("made", flush=True)
threading.Event().wait()
"""


def fleet_sim(
    arguments: list[str], limit: Callable[[], None] | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line, with `limit` called in the new process first."""
    # Python would keep byte code cut off where files may not grow, and end in an EOFError at each start from then on.
    command = [sys.executable, "-B", "-m", "fleet_sim.apps.cli.main", *arguments]
    return subprocess.run(command, preexec_fn=limit, cwd=folder, capture_output=True, text=True, check=False)


def limited(kind: int, amount: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (amount, amount))


def assert_one_error(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "error:" in line]
    assert line.startswith("fleet-sim: error: ")


@pytest.mark.slow
def test_a_film_that_is_killed_leaves_the_one_before(tmp_path: Path) -> None:
    film = tmp_path / "film.gif"
    film.write_bytes(b"the one before")
    command = [sys.executable, "-u", "-m", "fleet_sim.apps.cli.main", "swarm", "flocking.yaml", "--steps", "100000"]
    outputs = ["--record", str(film), "--metrics", str(tmp_path / "table.csv"), "--every", "1"]
    process = subprocess.Popen([*command, *outputs])
    # The table is begun with the first step.
    while not any(tmp_path.glob(".table*")):
        assert process.poll() is None
        os.sched_yield()
    process.kill()
    process.wait()
    assert film.read_bytes() == b"the one before"
    assert not (tmp_path / "table.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("table", "number"), [("table.csv", signal.SIGINT), ("table.parquet", signal.SIGTERM)])
def test_a_signal_while_files_are_written_leaves_whole_ones(table: str, number: signal.Signals, tmp_path: Path) -> None:
    if table.endswith("parquet"):
        pytest.importorskip("pyarrow")
    folder, world = tmp_path / "files", tmp_path / "narrow.yaml"
    folder.mkdir()
    world.write_text(NARROW)
    film = folder / "film.gif"
    command = [sys.executable, "-u", "-m", "fleet_sim.apps.cli.main", "swarm", str(world), "--steps", "100000"]
    process = subprocess.Popen([*command, "--record", str(film), "--metrics", str(folder / table), "--every", "1"])
    while not has_begun(folder):
        assert process.poll() is None
        os.sched_yield()
    process.send_signal(number)
    assert process.wait() == 128 + number
    assert {path.name for path in folder.iterdir()} in ({table}, {"film.gif", table})
    # A film without a picture is none. The signal may come between a step's picture and its row.
    assert abs(rows_of(folder / table) - pictures_of(film)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("table", "number"), [("table.csv", signal.SIGTERM), ("table.parquet", signal.SIGKILL)])
def test_a_signal_before_the_first_step_leaves_no_file(table: str, number: signal.Signals, tmp_path: Path) -> None:
    if table.endswith("parquet"):
        pytest.importorskip("pyarrow")
    program = [sys.executable, "-c", TABLE, str(tmp_path / table)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "made\n"
        process.send_signal(number)
    assert process.returncode == -number
    assert list(tmp_path.iterdir()) == []


def has_begun(folder: Path) -> bool:
    """Whether a table in `folder` has lines. Before the first step there may be an empty one, which comes and goes."""
    with suppress(FileNotFoundError):
        return any(part.stat().st_size for part in folder.glob(".table*"))
    return False


def pictures_of(film: Path) -> int:
    """Return the number of pictures of a film, 0 if there is none; raises for a torn one."""
    if not film.exists():
        return 0
    with Image.open(film) as frames:
        count = int(getattr(frames, "n_frames", 1))
        frames.seek(count - 1)
        frames.load()
        return count


def rows_of(table: Path) -> int:
    """Return the number of rows of a table; raises for a torn one."""
    if table.suffix == ".csv":
        lines = table.read_text().splitlines()
        assert len({line.count(",") for line in lines}) <= 1
        # The first line has the names; it comes with the first row.
        return max(0, len(lines) - 1)
    import pyarrow.parquet

    return int(pyarrow.parquet.read_table(table).num_rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["film.gif", "run.mcap"])
def test_a_file_that_may_not_grow_is_one_error_and_no_file(name: str, tmp_path: Path) -> None:
    done = fleet_sim([*OUTPUTS[name], str(tmp_path / name)], limited(resource.RLIMIT_FSIZE, 200))
    assert_one_error(done)
    assert list(tmp_path.iterdir()) == []


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system of its own; skips where nobody may make one."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("megabytes", [250, 440])
def test_without_memory_for_compiled_code_a_run_goes_on_and_says_so(megabytes: int) -> None:
    # So long that machine code is looked for.
    done = fleet_sim(
        ["run", "demo.yaml", "--headless", "--duration", "10", "--rtf", "0"],
        limited(resource.RLIMIT_AS, megabytes << 20),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("which is more than there is (see ulimit -v)") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_full_disk_is_one_error_and_no_file(name: str, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=16k") as disk:
        (disk / "filler").write_bytes(bytes(16 << 10))
        assert_one_error(fleet_sim([*OUTPUTS[name], str(disk / name)]))
        assert [path.name for path in disk.iterdir()] == ["filler"]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_read_only_disk_is_one_error_before_the_run(name: str, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=64k,ro") as disk:
        done = fleet_sim([*OUTPUTS[name], str(disk / name)])
        assert_one_error(done)
        assert "agents" not in done.stdout


@pytest.mark.slow
def test_few_open_files_are_enough() -> None:
    done = fleet_sim(
        ["run", "demo.yaml", "--headless", "--duration", "0.5", "--rtf", "0"], limited(resource.RLIMIT_NOFILE, 24)
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("is_full", [False, True])
def test_of_a_recording_nothing_stays_where_the_disk_is_full(is_full: bool, tmp_path: Path) -> None:
    """What is whole of it stays after any other error; on a full disk others need the room."""
    file = McapFile(tmp_path / "run.mcap")
    channel = file.channel("/told", "std_msgs/msg/String", STATE)
    file.write(channel, 0, bytes(8))
    file.flush()
    with pytest.raises(fs.InvalidValueError) as caught, refusals(file.path):
        raise OSError(errno.ENOSPC, "full") if is_full else fs.InvalidValueError("a fault")
    talk, other = socket.socketpair()
    with talk, other:
        WriterProgram(talk, memoryview(bytearray(1 << 16)), file, Frames("map", "")).fail(caught.value)
    assert file.part.exists() is not is_full


@pytest.mark.parametrize("megabytes", [20, 60, 100, 150])
def test_too_little_memory_to_begin_is_one_error(megabytes: int) -> None:
    """NumPy would end in a traceback, or in a line of its own, and at the limit anything is imported last."""
    # As the installed command begins.
    command = [sys.executable, "-c", "import sys; from fleet_sim.apps.cli import start; sys.exit(start())", "doctor"]
    limit = limited(resource.RLIMIT_AS, megabytes << 20)
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not done.stdout
    assert re.fullmatch(r"fleet-sim: error: not enough memory: .+ MB, .+ \(see ulimit -v\)\n", done.stderr)


@pytest.mark.slow
def test_too_little_memory_ends_a_run_and_says_so(tmp_path: Path) -> None:
    scenario = tmp_path / "huge.yaml"
    grid = "{count: 400000, columns: 1000, spacing: [2, 2, 0]}"
    # Without compiled code, which would not even load.
    scenario.write_text(
        f"robots: [{{name: r, shape: {{shape_type: box, half_extents: [1, 1, 1]}}, grid: {grid}}}]\n"
        "simulation: {compiled_code: never}\n"
    )
    done = fleet_sim(
        ["run", str(scenario), "--headless", "--duration", "1", "--rtf", "0"], limited(resource.RLIMIT_AS, 300 << 20)
    )
    assert done.returncode != 0
    assert "emory" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
def test_a_recording_on_a_full_disk_ends_and_the_run_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("mcap")
    with mounted(tmp_path / "disk", "size=500k") as disk:
        path = disk / "run.mcap"
        done = fleet_sim(["run", "demo.yaml", "--headless", "--duration", "10", "--hash", "--record", str(path)])
        assert_one_error(done)
        assert "No space left" in done.stderr
        assert "10.00 s simulated" in done.stdout
        assert list(disk.iterdir()) == []
    again = fleet_sim(["run", "demo.yaml", "--headless", "--duration", "10", "--hash"])
    assert again.stdout.splitlines()[-1] == done.stdout.splitlines()[-1]
