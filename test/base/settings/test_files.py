"""YAML files: what is wrong, in which file and line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.settings import load_documents, load_mapping, parse_value, set_key
from fleet_sim.base.settings.expressions import Expression


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
        ("a: 1\nb: [1, 2\nc: 3\n", "line 3, column 2: not valid YAML"),
        ("a: 1\n\tb: 2\n", "line 2, column 1: not valid YAML"),
        ("a: *missing\n", "line 1, column 4: not valid YAML"),
        ("a: !!python/object:os.system {}\n", "line 1, column 4: not valid YAML"),
        ("a: 1\n---\nb: 2\n", "line 2, column 1: not valid YAML"),
        ("", "is empty"),
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
    assert [parse_value(text) for text in ("1", "2e3", "true", "[1, x]", "null")] == [1, 2000.0, True, [1, "x"], None]
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


# ---- What files may say beyond YAML: arithmetic, other files, paths --------------------------------------------------


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_arithmetic_inclusion_and_paths(tmp_path: Path) -> None:
    write(tmp_path / "parts", "robot.yaml", "radius: !np 3 / 8\nmesh: !relpath robot.obj\n")
    path = write(tmp_path, "a.yaml", "angle: !np -pi / 2\nrobot: !include parts/robot.yaml\nn: !np n * 2\n")
    assert load_mapping(path, values={"n": 4}) == {
        "angle": -math.pi / 2,
        "robot": {"radius": 0.375, "mesh": str(tmp_path / "parts" / "robot.obj")},
        "n": 8,
    }


def test_comments_about_templates_are_comments(tmp_path: Path) -> None:
    assert load_mapping(write(tmp_path, "a.yaml", "# not <{ this }>\na: 1  # nor <{ that }>\n")) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !np 1 +", "a.yaml: line 1: '1 \\+' is not an expression"),
        ("a: !np tau", "line 1: unknown name 'tau' in 'tau'"),
        ("a: !np {b: 2}", "line 1: !np takes one text"),
        ("a: !include b.yaml", "b.yaml: there is no such file"),
        ("a: !include a.yaml", "include each other more than 20 deep"),
        ("a: 1\n#%> set h = 3\n", r"a.yaml: line 2: .*#%> set h = 3.* is of a Jinja template"),
        ("size: [<{ width }>, 3]", r"line 1: .* is of a Jinja template, .* write the value: `!np pi / 4`"),
        ("a: <% if b %>1<% endif %>", r"line 1: .* Jinja"),
        ("a: !includes a.yaml", "could not determine a constructor for the tag '!includes'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_mapping(write(tmp_path, "a.yaml", text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 ** 3 - 7 // 2 % 2", 7),
        ("min(3, 4) + abs(-1)", 4),
        ("[1, 2 * 3]", [1, 6]),
        ("1 < x <= 3 and not x == 2", True),
        ("m['a b'] > 1 or y", True),
        ("round(degrees(pi))", 180),
        ("deg2rad(180) == pi and rad2deg(pi) == 180", True),
    ],
)
def test_expressions(text: str, value: Any) -> None:
    assert Expression(text).value({"x": 3, "m": {"a b": 2}, "y": 0}) == value


@pytest.mark.parametrize(
    "text", ["__import__('os')", "x.y", "lambda: 1", "f'{x}'", "1 if x else 2", "x := 1", "1j", "x | y"]
)
def test_code_is_not_an_expression(text: str) -> None:
    with pytest.raises(InvalidValueError):
        Expression(text)


@pytest.mark.parametrize("text", ["1 / 0", "9 ** 999", "'a' * 9", "sqrt(-1)", "x + 1", "min(1)"])
def test_expressions_without_a_value(text: str) -> None:
    with pytest.raises(InvalidValueError):
        Expression(text).value({})


def loaded(folder: Path, text: str) -> Any:
    path = folder / "main.yaml"
    path.write_text(text, encoding="utf-8")
    return load_mapping(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!np [1e-2, pi / 2, [1 + 1]]", [0.01, math.pi / 2, [2]]),
        ("!np [15, 15] / 2", [7.5, 7.5]),
        ("!np [1, 2] + 10 # each", [11, 12]),
        ("!np '[1, 2] * [3, 4]'", [3, 8]),
        ("!np array([1, 2]) / 2", [0.5, 1.0]),
        ("!np np.deg2rad(180)", math.pi),
        ("!np arcsin(1.0) * 2", math.pi),
        ("[!np PI, !np math.sqrt(4)]", [math.pi, 2.0]),
    ],
)
def test_arithmetic_knows_lists_and_names_of_numpy(tmp_path: Path, text: str, value: object) -> None:
    assert loaded(tmp_path, f"a:\n- x: {text}\nb: {text}\n") == {"a": [{"x": value}], "b": value}
    assert loaded(tmp_path, f"a:\n- {text}\n") == {"a": [value]}


def test_lists_that_do_not_fit_have_no_sum(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="lists of 2 and 3 items"):
        loaded(tmp_path, "a: !np '[1, 2] + [1, 2, 3]'\n")


def test_a_mapping_takes_the_keys_of_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/robot.yaml").write_text("r: 1\nc: !include colour.yaml\nname: robot\n", encoding="utf-8")
    (tmp_path / "sub/colour.yaml").write_text("{red: 255}\n", encoding="utf-8")
    (tmp_path / "more.yaml").write_text("name: more\nsize: 3\n", encoding="utf-8")
    # Paths inside are relative to the file that is included; what stands here counts more.
    assert loaded(tmp_path, "<<: !include sub/robot.yaml\nr: 2\n") == {"r": 2, "c": {"red": 255}, "name": "robot"}
    both = loaded(tmp_path, "a: &a {z: 1}\nb:\n  <<: [!include sub/robot.yaml, !include more.yaml, *a]\n")
    assert both["b"] == {"z": 1, "r": 1, "c": {"red": 255}, "name": "robot", "size": 3}
    (tmp_path / "list.yaml").write_text("[1]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 1: <<: !include needs a file with a mapping"):
        loaded(tmp_path, "<<: !include list.yaml\n")


def test_drawings_are_included_as_text(tmp_path: Path) -> None:
    (tmp_path / "rock.svg").write_text("<svg>\n</svg>", encoding="utf-8")
    assert loaded(tmp_path, "points: !include rock.svg\n") == {"points": "<svg>\n</svg>"}


def test_a_file_may_hold_several_documents(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text("---\nexpected: true\n---\na: !np 1 + 1\n...\n", encoding="utf-8")
    assert load_documents(path) == [{"expected": True}, {"a": 2}]


def test_a_number_as_long_as_a_message_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text("a: " + "9" * 100_000 + "\nb: 12\n")
    with pytest.raises(ConfigError, match="a number of 100000 characters; at most 1000 are read"):
        load_mapping(file)
    file.write_text("a: " + "n" * 100_000 + "\nb: 12\n")
    assert load_mapping(file) == {"a": "n" * 100_000, "b": 12}
