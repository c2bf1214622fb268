"""Templates: variables, statements, includes; and what is refused before it costs time or memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.settings import Variables, load_documents, load_mapping

pytest.importorskip("jinja2")


def rendered(folder: Path, text: str, **values: object) -> object:
    path = folder / "world.yaml"
    path.write_text(text, encoding="utf-8")
    (document,) = load_documents(path, Variables(values))
    return document


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#%> set height = width / 2\nsize: [<{ width }>, <{ height }>]\n", {"size": [6, 3.0]}),
        ("a: <{ n|default(3) }>\nb: <{ dt|default('!np 1 / 40') }>\n", {"a": 3, "b": 0.025}),
        ("<% for i in range(2) %>\nk<{ i }>: <{ i * width }>\n<% endfor %>\n", {"k0": 0, "k1": 6}),
        ("a: [<% if width > 3 %>1<% else %>2<% endif %>]\n", {"a": [1]}),
        ("#%> set a, b = 1, 2\nx: <{ a ~ 'x' ~ b }>\n", {"x": "1x2"}),
        ("a: <{ math.cos(0.0) + np.pi - numpy.pi }>\nb: <{ deg2rad(180) == pi }>\n", {"a": 1.0, "b": True}),
        ("a: <{ [1, 2, 3]|join('-') }>\nb: <{ [1, 2] + [3] }>\n", {"a": "1-2-3", "b": [1, 2, 3]}),
        ("plain: 1 # no template\n", {"plain": 1}),
    ],
)
def test_variables_become_values(tmp_path: Path, text: str, expected: object) -> None:
    assert rendered(tmp_path, text, width=6) == expected


def test_files_that_are_included_know_the_variables_too(tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text("r: <{ radius * scale }>\n", encoding="utf-8")
    text = "#%> set scale = 10\na: !include <{ name }>.yaml\n<<: !include part.yaml\n"
    assert rendered(tmp_path, text, name="part", radius=2) == {"a": {"r": 20}, "r": 20}


def test_it_is_known_which_variables_were_asked_for(tmp_path: Path) -> None:
    variables = Variables({"width": 1, "heigth": 2})
    path = tmp_path / "world.yaml"
    path.write_text("size: [<{ width }>, <{ height|default(3) }>]\n", encoding="utf-8")
    load_documents(path, variables)
    assert variables.known == {"width", "height"}
    with pytest.raises(ConfigError, match=r"heigth: its templates have no such variable. Did you mean 'height'"):
        variables.check_used(str(path))
    with pytest.raises(ConfigError, match="width: it is not a template"):
        Variables({"width": 1}).check_used("x.yaml")


def repeated(line: str, first: str) -> str:
    return f"#%> set a = {first}\n" + f"#%> set a = {line}\n" * 60 + "x: <{ a }>\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x: <{ w }>", "'w' is undefined: give it"),
        ("x: <% if %>", "line 1: Expected an expression"),
        ("x: <{ 1 / 0 }>", "cannot be rendered: division by zero"),
        ("x: <{ ''.__class__.__mro__ }>", "unsafe"),
        ("x: <{ 'a'.ljust(10) }>", "line 1: only functions are called here"),
        ("x: <{ lipsum() }>", "only functions are called here"),
        ("x: <{ 'a'|center(1000000000) }>", "unknown filter 'center'"),
        ("<% macro f(n) %><{ f(n) }><% endmacro %>", "macro is not allowed"),
        ("<% include '/etc/hostname' %>", "include is not allowed"),
        ("<% set a = namespace(b=1) %>", "only functions are called here"),
        ("x: <{ _rounds }>", "do not begin with an underscore"),
        ("<% for i in [1] recursive %><% endfor %>", "recursive loops are not allowed"),
        ("<% for i in range(10**9) %>x<% endfor %>", "more than 10000 items"),
        ("<% for i in range(9999) %><% for j in range(9999) %><% endfor %><% endfor %>", "more than 100000 rounds"),
        (f"<% for i in range(9999) %>{'x' * 1000}<% endfor %>", "longer than"),
        ("x: <{ 'a' * 10**9 }>", "arithmetic is for numbers"),
        ("x: <{ [1] * 10**9 }>", "arithmetic is for numbers"),
        ("x: <{ '%1000000000d' % 1 }>", "arithmetic is for numbers"),
        ("x: <{ 10 ** (10 ** 9) }>", "exponents go up to 64"),
        ("x: <{ 5|round(-1000000000) }>", "round takes up to 30 digits"),
        (repeated("a ~ a", "'abc'"), "more than 10000 characters"),
        (repeated("a + a", "[1]"), "more than 10000 items"),
        (repeated("[a, a]", "[1]"), "more than 10000 items"),
        (repeated("(a, a)", "1, 2"), "more than 10000 items"),
        (repeated("{'x': a, 'y': a}", "{}"), "more than 10000 items"),
    ],
)
def test_what_is_wrong_or_too_much_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=r"world\.yaml: ") as raised:
        rendered(tmp_path, text)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "x: <{ " + "-" * 3000 + "1 }>",
        "x: <{ " + "(" * 3000 + "1" + ")" * 3000 + " }>",
        "x: <{ " + " + ".join(["1"] * 3000) + " }>",
        "<% for i in [1] %>" * 30 + "x: 1" + "<% endfor %>" * 30,
        "<% if 1 %>" * 110 + "x: 1" + "<% endif %>" * 110,
    ],
    ids=["signs", "brackets", "a sum", "loops", "conditions"],
)
def test_what_is_nested_too_deep_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"world\.yaml: the template is nested too deep"):
        rendered(tmp_path, text)


def test_files_that_are_no_worlds_are_not_rendered(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text("a: <{ 1 + 1 }>\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="read as plain YAML"):
        load_mapping(path)


def test_without_jinja_the_error_names_the_extra(tmp_path: Path) -> None:
    path = tmp_path / "world.yaml"
    path.write_text("a: <{ 1 + 1 }>\n", encoding="utf-8")
    code = (
        "import sys; sys.modules['jinja2'] = None\n"
        "from fleet_sim.base.settings import Variables, load_documents\n"
        f"load_documents({str(path)!r}, Variables())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'fleet_sim[template]'" in done.stderr
