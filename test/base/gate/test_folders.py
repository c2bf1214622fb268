"""Files that other processes name lie below the operator's folder, whatever they say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.limits import MOST_FILES, OperatorFolder

LEAVES = ["../out.state", "/etc/out.state", "sub/../../out.state", "link.state", "way/out.state", "sub/../a.state"]
WRONG = ["", ".state", "a", "a.yaml", "a.state/", "a\0.state", "a\n.state", "x" * 300 + ".state", "~/a.state/.."]


@pytest.fixture
def folder(tmp_path: Path) -> OperatorFolder:
    place = tmp_path / "states"
    (place / "sub").mkdir(parents=True)
    (tmp_path / "out.state").write_text("outside")
    (place / "link.state").symlink_to(tmp_path / "out.state")
    (place / "way").symlink_to(tmp_path)
    (place / "inner.state").symlink_to(place / "sub" / "b.state")
    (place / "sub" / "b.state").write_text("inside")
    return OperatorFolder(str(place), ".state", "no folder")


@pytest.mark.parametrize("name", LEAVES + WRONG)
def test_a_name_that_leads_out_is_refused(name: str, folder: OperatorFolder) -> None:
    for use in (folder.file_to_read, folder.file_to_write):
        with pytest.raises(InvalidValueError, match=r"file|folder"):
            use(name)


def test_a_name_below_the_folder_is_that_file(folder: OperatorFolder, tmp_path: Path) -> None:
    place = tmp_path / "states"
    assert folder.file_to_write("sub/new.state") == place / "sub" / "new.state"
    assert folder.file_to_read("inner.state") == place / "sub" / "b.state"
    with pytest.raises(InvalidValueError, match=r"not a file|no file"):
        folder.file_to_read("missing.state")
    with pytest.raises(InvalidValueError, match="does not exist"):
        folder.file_to_write("none/new.state")


def test_only_files_are_opened(folder: OperatorFolder, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "states" / "pipe.state")
    for use in (folder.file_to_read, folder.file_to_write):
        with pytest.raises(InvalidValueError, match=r"not a file|no file"):
            use("pipe.state")


def test_a_folder_is_not_filled_without_end(folder: OperatorFolder, tmp_path: Path) -> None:
    for number in range(MOST_FILES):
        (tmp_path / "states" / "sub" / f"{number}.state").touch()
    with pytest.raises(InvalidValueError, match="replace one of them"):
        folder.file_to_write("sub/one_more.state")
    assert folder.file_to_write("sub/0.state").name == "0.state"


def test_without_a_folder_there_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="say so"):
        OperatorFolder("", ".state", "say so").file_to_read("a.state")
    with pytest.raises(InvalidValueError, match="no folder"):
        OperatorFolder(str(tmp_path / "none"), ".state", "say so")
