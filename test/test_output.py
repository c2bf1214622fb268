"""Files are written whole or not at all, with one error, before the run where that can be known."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim.apps.cli.main import interrupted_by_sigterm, main
from fleet_sim.base import files
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import check_target, part_of, replacing, write_png


def full(*args: object, **kwargs: object) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write() -> None:
        with replacing(path) as part:
            part.write_text("half of the n")
            full()

    with pytest.raises(InvalidValueError, match=r"a\.txt: cannot be written: No space"):
        write()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
    with replacing(path) as part:
        part.write_text("new")
    assert path.read_text() == "new"


def test_a_target_is_known_to_be_wrong_before(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "a.png", "/proc/a.png"):
        with pytest.raises(InvalidValueError):
            check_target(path)
    check_target(tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x" * 100_000, "..", "x" * 5_000 + "/a.png", "a\0.png", "\ud800.png", "x" * 255])
def test_names_that_no_file_can_have_are_told_in_one_short_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="cannot be written") as caught:
        check_target(tmp_path / name)
    assert len(str(caught.value)) < 1000
    assert str(caught.value).isprintable()
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_removed_by_a_later_run_of_the_same_file(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    names = [f".a.{number}.part.csv" for number in (ended.pid, os.getpid(), 10**30, "x")]
    names += [f".b.{ended.pid}.part.csv", f".a.{ended.pid}.part.gif", f"a.{ended.pid}.part.csv"]
    for name in names:
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (0, 0))
    fresh = tmp_path / f".a.0{ended.pid}.part.csv"
    fresh.write_text("")
    check_target(tmp_path / "a.csv")
    left = {path.name for path in tmp_path.iterdir()}
    assert {*names, fresh.name} - left == {names[0], names[1], names[2]}


def test_what_is_no_file_is_never_replaced_by_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InvalidValueError, match="it is a device, a pipe or a socket, and no file"):
        check_target(pipe)
    for name in ("a.json", "run.mcap", "inputs.jsonl", "run.state"):
        option = {"a": "--json", "run": "--record", "inputs": "--record-inputs"}[name.partition(".")[0]]
        option = "--save-state" if name.endswith("state") else option
        pipe = tmp_path / name
        os.mkfifo(pipe)
        assert main(["run", "demo.yaml", "--headless", "--duration", "0.1", "--rtf", "0", option, str(pipe)]) == 1
        assert pipe.is_fifo()
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "a.json", "run.mcap", "inputs.jsonl", "run.state"}


def test_a_link_stays_and_leads_to_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "a.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    assert main(["run", "demo.yaml", "--headless", "--duration", "0.1", "--rtf", "0", "--json", str(link)]) == 0
    assert link.is_symlink()
    assert target.read_text() == link.read_text() != "old"
    assert {path.name for path in tmp_path.rglob("*")} == {"there", "a.json", "link.json"}


def test_a_picture_on_a_full_disk_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "opened", full)
    with pytest.raises(InvalidValueError, match="No space"):
        write_png(tmp_path / "a.png", np.zeros((2, 2, 3), np.uint8))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--record=a.gif", "--metrics=a.csv", "--plot=a.svg", "--picture=a.png"])
def test_a_swarm_writes_whole_files(tmp_path: Path, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    if "plot" in option:
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert main(["swarm", "milling.yaml", "--steps", "3", option]) == 0
    (file,) = tmp_path.iterdir()
    assert file.name == option.split("=")[1]
    assert file.stat().st_size > 0


@pytest.mark.parametrize("option", ["--record=a.gif", "--metrics=a.csv", "--plot=a.svg", "--picture=a.png"])
def test_on_a_full_disk_there_is_one_error_and_no_file(
    tmp_path: Path, option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("PIL")
    if "plot" in option:
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "replace", full)
    assert main(["swarm", "milling.yaml", "--steps", "3", option]) == 1
    error = capsys.readouterr().err
    assert error.startswith("fleet-sim: error: a.")
    assert "No space" in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_sigterm_is_an_interrupt_and_only_inside() -> None:
    before = signal.getsignal(signal.SIGTERM)

    def work() -> None:
        with interrupted_by_sigterm():
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert signal.getsignal(signal.SIGTERM) == before
    thread = threading.Thread(target=interrupted_by_sigterm().__enter__)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_part_has_the_ending_of_its_file() -> None:
    assert part_of("a/b.gif").suffix == ".gif"
