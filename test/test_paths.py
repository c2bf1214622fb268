"""Shipped files are found, and a missing one says where it was searched."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import data_file, data_roots, resolve_config, shared_uri


def test_shipped_files_are_found() -> None:
    assert data_file("config", "demo.yaml").is_file()
    assert resolve_config("demo.yaml") == data_file("config", "demo.yaml")


def test_a_missing_file_says_what_was_searched() -> None:
    with pytest.raises(ConfigError) as caught:
        data_file("config", "dem.yaml")
    message = str(caught.value)
    assert "Did you mean 'demo.yaml'?" in message
    for root in data_roots():
        assert str(root / "config") in message


def test_an_ament_prefix_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "share" / "fleet_sim" / "urdf"
    folder.mkdir(parents=True)
    (folder / "only_there.urdf").write_text("<robot/>")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    assert data_file("urdf", "only_there.urdf") == folder / "only_there.urdf"


def test_given_paths_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_config("config/mine.yaml") == Path("config/mine.yaml")
    assert resolve_config("sites/office.yaml") == data_file("config", "sites/office.yaml")
    with pytest.raises(ConfigError, match=r"dem.yaml: there is no such file here .* Did you mean 'demo.yaml'"):
        resolve_config("dem.yaml")
    # No more like it than all names with that ending are.
    with pytest.raises(ConfigError, match=r"of that name\. Known: aggregation\.yaml, "):
        resolve_config("nosuch.yaml")
    (tmp_path / "demo.yaml").write_text("simulation: {}\n")
    assert resolve_config("demo.yaml") == Path("demo.yaml")


def test_files_of_installed_packages_have_uris_that_other_machines_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "install" / "share" / "arm" / "meshes" / "link 0.stl"
    source = tmp_path / "src" / "my_hand" / "meshes" / "palm.dae"
    linked = tmp_path / "install" / "share" / "hand" / "meshes" / "palm.dae"
    for file in (installed, source, linked):
        file.parent.mkdir(parents=True)
    installed.touch()
    source.touch()
    # As colcon build --symlink-install does.
    linked.symlink_to(source)
    (tmp_path / "src" / "my_hand" / "package.xml").write_text("<package><name>hand</name></package>")
    assert shared_uri(installed) == installed.as_uri()
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path / 'install'}")
    assert shared_uri(installed) == "package://arm/meshes/link%200.stl"
    assert shared_uri(source) == shared_uri(linked) == "package://hand/meshes/palm.dae"
    for other in (tmp_path / "src" / "my_hand" / "not_installed.dae", tmp_path / "mine.stl"):
        assert shared_uri(other) == other.as_uri()
