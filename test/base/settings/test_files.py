"""YAML files: what is wrong, in which file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.settings import load_mapping, parse_value, set_key


def written(folder: Path, text: str) -> Path:
    path = folder / "fleet.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_a_mapping(tmp_path: Path) -> None:
    path = written(tmp_path, "a: 1e-3\nb: &base {c: [1, 2]}\nd:\n  <<: *base\n  e: x\n")
    assert load_mapping(path) == {"a": 0.001, "b": {"c": [1, 2]}, "d": {"c": [1, 2], "e": "x"}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3: the key 'a' is already given in line 1"),
        ("s:\n  x: 1\n  x: 2\n", "line 3: the key 'x' is already given in line 2"),
        ("a: 1\nb: [1, 2\nc: 3\n", "line 3, column 2: not valid YAML"),
        ("a: 1\n\tb: 2\n", "line 2, column 1: not valid YAML"),
        ("a: *missing\n", "line 1, column 4: not valid YAML"),
        ("a: !!python/object:os.system {}\n", "line 1, column 4: not valid YAML"),
        ("? [1, 2]\n: 3\n", "line 1, column 3: not valid YAML"),
        ("a: 1\n---\nb: 2\n", "line 2, column 1: not valid YAML"),
        ("a: \x01\n", "not valid YAML"),
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("- 1\n", "expected a mapping of keys to values, got [1]"),
        ("[" * 5000, "is nested too deep"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_mapping(path)
    assert caught.value.source == str(path)
    assert words in str(caught.value)


def test_a_missing_file_suggests_the_closest_in_its_folder(tmp_path: Path) -> None:
    written(tmp_path, "a: 1\n")
    with pytest.raises(ConfigError, match=r"fleets.yaml: there is no such file. Did you mean 'fleet.yaml'\?"):
        load_mapping(tmp_path / "fleets.yaml")
    with pytest.raises(ConfigError, match=r"the folder .* does not exist"):
        load_mapping(tmp_path / "nowhere" / "fleet.yaml")


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_mapping(tmp_path)
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"a: \xff\xfe")
    with pytest.raises(ConfigError, match="must be text in UTF-8"):
        load_mapping(path)


def test_values_are_read_as_in_a_file() -> None:
    assert [parse_value(text) for text in ("1", "2e3", "true", "[1, x]", "null")] == [
        1,
        2000.0,
        True,
        [1, "x"],
        None,
    ]
    with pytest.raises(ConfigError, match="not valid YAML"):
        parse_value("[1,")


def test_keys_are_set_by_their_path() -> None:
    data: dict[str, object] = {"a": {"b": 1}}
    set_key(data, "a.b", 2)
    set_key(data, "c.d", 3)
    assert data == {"a": {"b": 2}, "c": {"d": 3}}
    with pytest.raises(ConfigError, match=r"a.b: holds 2, so 'a.b.c' cannot be set"):
        set_key(data, "a.b.c", 1)
    for wrong in ("", "a.", ".a", "a[x]", "[0]", "a[0", "a..b"):
        with pytest.raises(ConfigError, match="expected a key path"):
            set_key(data, wrong, 1)


def test_entries_of_lists_are_set_by_their_index() -> None:
    data: dict[str, object] = {"robots": [{"name": "a"}, {"limits": [1.0, 2.0]}]}
    set_key(data, "robots[0].name", "b")
    set_key(data, "robots[1].limits[1]", 3.0)
    set_key(data, "robots[0].battery.level", 0.5)
    assert data == {"robots": [{"name": "b", "battery": {"level": 0.5}}, {"limits": [1.0, 3.0]}]}
    for path, said in (
        ("robots[2].name", "robots: has 2 entries"),
        ("robots[0][1]", r"robots\[0\]: holds .* no list"),
        ("robots.name", "robots: holds"),
        ("objects[0].name", "there is no such key: 'objects'"),
    ):
        with pytest.raises(ConfigError, match=said):
            set_key(data, path, 1)
    with pytest.raises(ConfigError, match=r"no such key: 'robots\[0\].nme'"):
        set_key(data, "robots[0].nme", 1, create=False)
