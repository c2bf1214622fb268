"""What MkDocs asks while it builds the site: pages made from the package itself, and links that lead out of docs/.

The reference is made of the declarations and docstrings of the package, so it says what the code does: classes and
functions by the topics of names.md, settings by section, parts of swarm worlds, entry points, commands, and examples.
Pages stay short: what is long gets a page of its own.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md")
ENTRY_POINTS = "reference/entry_points.md"
MOST_ROWS = 60
"""Rows of a table of settings on one page; keys with more of their own get a page each."""
MOST_MEMBERS = 6
"""Names with more members than this get a page each."""
PAGE_MEMBERS = 40
"""Members on one page; larger classes get several."""
LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of names and examples under Reference, in their order."""
    pages = list(generated())
    (reference,) = [entry["Reference"] for entry in config.nav or [] if "Reference" in entry]
    for title, folder in (
        ("Python", "reference/python/"),
        ("Settings", "reference/settings/"),
        ("Commands", "reference/commands/"),
        ("Parts of swarm worlds", "reference/swarm/"),
        ("Examples", "examples/"),
    ):
        reference.append({title: [page for page in pages if page.startswith(folder)]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to files outside docs/ lead to the pages made from them; describe the public names."""
    # A question is answered by what was written for it before the reference.
    answers = page.file.src_uri in ("cookbook.md", "help.md")
    page.meta["search"] = {"boost": 4 if answers else 0.5 if page.file.src_uri.startswith("reference/") else 1}
    if page.file.src_uri == "names.md":
        return _described_names(markdown)
    depth = page.file.src_uri.count("/")
    up = "../" * depth

    def target(match: re.Match[str]) -> str:
        link, anchor = match[1], match[2] or ""
        if page.file.src_uri.startswith("project/"):
            # These were written in the root of the project.
            link = f"../{link}"
            resolved = link.removeprefix("../")
        elif link.startswith("../" * (depth + 1)):
            resolved = link.removeprefix("../" * (depth + 1))
        else:
            return match[0]
        if resolved in PROJECT:
            return f"]({up}project/{resolved}{anchor})"
        if resolved.startswith("docs/"):
            return f"]({up}{resolved.removeprefix('docs/')}{anchor})"
        if re.fullmatch(r"examples/\w+\.py", resolved):
            return f"]({up}{resolved.removesuffix('.py')}.md{anchor})"
        return match[0]

    return re.sub(r"\]\(([\w./-]+)(#[\w-]+)?\)", target, markdown)


def generated() -> dict[str, str]:
    """Return all pages that are made here, by path below docs/."""
    pages = {f"project/{name}": (ROOT / name).read_text(encoding="utf-8") for name in PROJECT}
    pages |= {f"examples/{path.stem}.md": _example(path) for path in sorted((ROOT / "examples").glob("*.py"))}
    pages |= dict(_reference())
    pages |= dict(_settings())
    pages |= dict(_swarm_parts())
    pages[ENTRY_POINTS] = _entry_points()
    pages |= dict(_commands())
    return pages


def _example(path: Path) -> str:
    code = path.read_text(encoding="utf-8")
    return f"# {path.name}\n\n```python\n{code}```\n"


def _topics(names: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (title, public names) of names.md."""
    for part in re.split(r"^## ", names, flags=re.MULTILINE)[1:]:
        title, _, listed = part.partition("\n")
        yield title.strip(), re.findall(r"`(\w+)`", listed)


def _slug(title: str) -> str:
    return re.sub(r"\W+", "_", title.strip().lower()).strip("_")


def _members(name: str) -> list[str]:
    """Return the documented members of a public name, those of its bases too; not those of Python's own types."""
    import fleet_sim

    thing = getattr(fleet_sim, name)
    owners = [cls for cls in getattr(thing, "__mro__", ()) if cls.__module__.startswith("fleet_sim")]
    return sorted({one for owner in owners for one in vars(owner) if not one.startswith("_")})


def _home_of(name: str, topic: str) -> str:
    """Return the page of a public name, below docs/."""
    page = _slug(topic) if len(_members(name)) <= MOST_MEMBERS else f"{_slug(topic)}/{name}"
    return f"reference/python/{page}.md"


def _reference() -> Iterator[tuple[str, str]]:
    """Yield (path, page) of the public names."""
    pages: dict[str, str] = {}
    for topic, names in _topics((ROOT / "docs/names.md").read_text(encoding="utf-8")):
        for name in names:
            home = _home_of(name, topic)
            if home.count("/") > 2:
                pages |= _pages_of(name, home)
            else:
                pages[home] = pages.get(home, f"# {topic}\n\n") + f"::: fleet_sim.{name}\n\n"
    yield from pages.items()


def _pages_of(name: str, home: str) -> dict[str, str]:
    """Return the pages of a class with many members, the first of them at `home`."""
    members = _members(name)
    if len(members) <= PAGE_MEMBERS:
        return {home: f"::: fleet_sim.{name}\n    options:\n      heading_level: 1\n"}
    pages = {}
    for begin in range(0, len(members), PAGE_MEMBERS):
        number = begin // PAGE_MEMBERS + 1
        some = members[begin : begin + PAGE_MEMBERS]
        # The name itself, its docstring and its anchor are on the first page.
        rest = (
            {"heading_level": 1} if not begin else {"show_root_heading": "false", "show_docstring_description": "true"}
        )
        options = "".join(f"      {key}: {value}\n" for key, value in rest.items())
        title = "" if not begin else f"# {name}: {some[0]} to {some[-1]}\n\n"
        page = f"{title}::: fleet_sim.{name}\n    options:\n{options}      members: {json.dumps(some)}\n"
        pages[home if not begin else home.replace(".md", f"_{number}.md")] = page
    return pages


def _described_names(markdown: str) -> str:
    import fleet_sim

    text = [markdown.partition("\n## ")[0]]
    for topic, names in _topics(markdown):
        text += [f"\n## {topic}\n", "| name | |", "|---|---|"]
        for name in names:
            target = f"{_home_of(name, topic)}#fleet_sim.{name}"
            text.append(f"| [`{name}`]({target}) | {_first_line(getattr(fleet_sim, name))} |")
    return "\n".join(text) + "\n"


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("|", "\\|")


def _settings() -> Iterator[tuple[str, str]]:
    """Yield (path, page) of the sections of a scenario, from the declarations that read and check them."""
    from fleet_sim.apps.cli.schema import scenario_schema

    for name, section in sorted(scenario_schema()["properties"].items()):
        keys: dict[str, list[str]] = {}
        for row in _rows(section, ""):
            keys.setdefault(re.split(r"[.`\[]", row.removeprefix("| `"))[0], []).append(row)
        short = [row for rows in keys.values() if len(rows) <= MOST_ROWS for row in rows]
        yield f"reference/settings/{name}.md", _table(name, section.get("description", ""), short)
        for key, rows in keys.items():
            for begin in range(0, len(rows) if len(rows) > MOST_ROWS else 0, MOST_ROWS):
                number = f" ({begin // MOST_ROWS + 1})" if len(rows) > MOST_ROWS else ""
                page = f"reference/settings/{name}_{_slug(key + number)}.md"
                yield page, _table(f"{name}: {key}{number}", "", rows[begin : begin + MOST_ROWS])


def _table(title: str, text: str, rows: list[str]) -> str:
    head = ["| key | value | default | meaning |", "|---|---|---|---|"] if rows else []
    return "\n".join([f"# {title}\n", text, "", *head, *rows, ""])


def _swarm_parts() -> Iterator[tuple[str, str]]:
    """Yield (path, page) of each kind of part of swarm worlds: names, meaning and parameters."""
    from fleet_sim.swarm.registry import KINDS, world_schema

    schemas: Mapping[str, Any] = world_schema()["$defs"]
    for kind in ("controller", "sensor", "metric", "spawner"):
        rules = schemas[kind]["anyOf"][1]["allOf"]
        names: dict[type[Any], list[str]] = {}
        for name, cls in KINDS[kind].all().items():
            names.setdefault(cls, []).append(name)
        known = {rule["if"]["properties"]["type"]["const"]: rule["then"] for rule in rules}
        parts = sorted(names.items(), key=lambda item: item[1][0].lower())
        for begin in range(0, len(parts), 12):
            number = f" ({begin // 12 + 1})" if len(parts) > 12 else ""
            text = [f"# Types of {kind}s{number}\n"]
            for cls, called in parts[begin : begin + 12]:
                keys = {key: value for key, value in known[called[0]]["properties"].items() if key != "type"}
                rows = list(_rows({"properties": keys}, ""))
                text += [f"## {', '.join(f'`{one}`' for one in called)}\n", _meaning(cls), ""]
                text += [_table("", "", rows).partition("\n")[2]] if rows else []
            yield f"reference/swarm/{_slug(kind + 's' + number)}.md", "\n".join(text)


def _meaning(cls: type[Any]) -> str:
    """Return the docstring of `cls`, and that of the function that it refers to for the formula."""
    text = inspect.getdoc(cls) or ""
    for name in re.findall(r"see `(\w+)`", text):
        function = getattr(inspect.getmodule(cls), name, None)
        text += f"\n\n`{name}`: {inspect.getdoc(function)}" if function else ""
    return text


def _entry_points() -> str:
    """Return the page of the groups of entry points, read from where the registries are made."""
    text = ["# Entry points\n", "A group for each kind of thing that installed packages may add, by name.\n"]
    text += ["| group | an entry names |", "|---|---|"]
    rows = set()
    for path in (ROOT / "src/fleet_sim").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            maker = getattr(call.func, "id", "")
            group = next((word.value for word in call.keywords if word.arg == "group"), None)
            if maker == "Registry" and isinstance(group, ast.Constant) and group.value:
                rows.add(f"| `{group.value}` | {_accepted(call.args[1])} (`{module}`) |")
            elif maker == "PartRegistry" and isinstance(call.args[0], ast.Constant):
                rows.add(
                    f"| `fleet_sim.swarm.{call.args[0].value}` | a class derived from `{ast.unparse(call.args[1])}` |"
                )
    return "\n".join([*text, *sorted(rows), ""])


def _accepted(fit: ast.expr) -> str:
    """Return what a registry accepts, from the expression that says so."""
    if not isinstance(fit, ast.Call):
        return ast.unparse(fit)
    told = [word.value for word in fit.args if isinstance(word, ast.Constant)]
    if told:
        return str(told[0])
    kind = "a class derived from" if getattr(fit.func, "id", "") == "subclasses_of" else "an object of"
    return f"{kind} `{ast.unparse(fit.args[0])}`"


def _rows(schema: dict[str, Any], path: str) -> Iterator[str]:
    """Yield the rows of the keys below `path`; alternatives of one key follow each other."""
    for choice in (schema, *schema.get("anyOf", ())):
        kind = choice.get("properties", {}).get("type", {}).get("const")
        for key, value in choice.get("properties", {}).items():
            place = f"{path}{key}"
            if "const" in value:
                continue
            default = f"`{json.dumps(value['default'])}`" if "default" in value else ""
            meaning = str(value.get("description", "")).replace("|", "\\|")
            of = f" ({kind})" if kind else ""
            yield f"| `{place}`{of} | {_kind(value)} | {default} | {meaning} |"
            yield from _rows(value, f"{place}.")
        if isinstance(choice.get("items"), dict):
            yield from _rows(choice["items"], f"{path}[]." if not path or path.endswith(".") else path)


def _kind(value: dict[str, Any]) -> str:
    if "enum" in value:
        return ", ".join(f"`{json.dumps(word)}`" for word in value["enum"])
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(filter(None, map(_kind, value["anyOf"]))))
    kinds = value.get("type", "")
    kinds = kinds if isinstance(kinds, str) else " or ".join(kinds)
    if kinds == "array" and "prefixItems" in value:
        kinds = f"list of {len(value['prefixItems'])}"
    kinds = kinds.replace("array", "list").replace("object", "mapping")
    return " ".join([kinds, *(f"{sign} {value[key]:g}" for key, sign in LIMITS.items() if key in value)])


def _commands() -> Iterator[tuple[str, str]]:
    """Yield (path, page) of each subcommand, beginning with the list of all."""
    from fleet_sim.apps.cli.main import build_parser

    parser = build_parser([])
    yield "reference/commands/all.md", "# All commands\n\n" + _block(parser.format_help())
    for name, command in _subparsers(parser):
        text = [f"# fleet-sim {name}\n", _block(command.format_help())]
        for inner, further in _subparsers(command):
            text += [f"## fleet-sim {name} {inner}\n", _block(further.format_help())]
        yield f"reference/commands/{name}.md", "\n".join(text)


def _subparsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"
