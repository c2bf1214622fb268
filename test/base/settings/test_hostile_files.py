"""Files that would take all memory or never end are refused, and every wrong one with a ConfigError."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.settings import load_mapping, parse_remote, parse_value

BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i}\n  <<: [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60))


@pytest.mark.parametrize(
    "text",
    ["a: &a [*a]"]
    + ["x: !np ((((9**64)**64)**64)**64)**64", "x: !np 9**64 * 9**64 * 9**64 * 9**64 * 9**64 * 9**64", BOMB, MERGES]
    + ['x: !include "\\0"', "x: " + "[" * 100_000, f"x: !np {'-' * 50_000}1", "x: !np 2**-1.5**9**9"],
    ids=range(9),
)
def test_they_are_refused_with_the_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"a\.yaml") as caught:
        load_mapping(file)
    assert len(str(caught.value)) < 1000


def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (str(tmp_path / "pipe"), "/dev/zero", str(tmp_path)):
        (tmp_path / "a.yaml").write_text(f"x: !include {name}", encoding="utf-8")
        with pytest.raises(ConfigError, match="not a file"):
            load_mapping(tmp_path / "a.yaml")


def test_files_that_include_the_next_twice_are_refused(tmp_path: Path) -> None:
    for index in range(20):
        (tmp_path / f"{index}.yaml").write_text(f"a: !include {index + 1}.yaml\nb: !include {index + 1}.yaml\n")
    (tmp_path / "20.yaml").write_text("1")
    with pytest.raises(ConfigError, match="files are included"):
        load_mapping(tmp_path / "0.yaml")


def test_aliases_and_merges_as_people_write_them_are_read(tmp_path: Path) -> None:
    assert parse_value("{a: &a {x: 1}, b: {<<: *a, y: 2}, c: [*a, *a]}")["b"] == {"x": 1, "y": 2}
    assert parse_remote("{x: 1e-3}", "options") == {"x": 1e-3}


@pytest.mark.parametrize("text", [BOMB, MERGES, "[" * 90_000, "x" * 100_001, "!!python/object:os.system []"])
def test_texts_of_messages_are_bounded(text: str) -> None:
    with pytest.raises(InvalidValueError, match="options") as caught:
        parse_remote(text, "options")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("text", ["{", "[", "- ", "? ", "[a, ", "{a: "])
def test_what_is_nested_too_deep_in_a_message_is_refused_before_the_rest_is_read(text: str) -> None:
    with pytest.raises(InvalidValueError, match="nested too deep, more than 50 levels"):
        parse_remote(text * 2000, "options")
    assert parse_remote("[" * 40 + "1" + "]" * 40, "options") is not None
