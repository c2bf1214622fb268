"""Shipped files are found, and a missing one says where it was searched."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_sim.errors import ConfigError
from fleet_sim.paths import data_file, data_roots, resolve_config


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
