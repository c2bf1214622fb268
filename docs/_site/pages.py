"""What MkDocs asks while it builds the site: pages made from the package itself, and links that lead out of docs/.

The reference is made of the declarations and docstrings of the package, so it says what the code does: a page of
classes and functions for each topic of names.md, one of all settings, one of all commands, and one per example.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
SETTINGS = "reference/settings.md"
COMMANDS = "reference/commands.md"
LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of names and examples under Reference, in their order."""
    pages = list(generated())
    (reference,) = [entry["Reference"] for entry in config.nav or [] if "Reference" in entry]
    for title, folder in (("Python", "reference/python/"), ("Examples", "examples/")):
        reference.append({title: [page for page in pages if page.startswith(folder)]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to files outside docs/ lead to the pages made from them."""
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
    pages[SETTINGS] = _settings()
    pages[COMMANDS] = _commands()
    return pages


def _example(path: Path) -> str:
    code = path.read_text(encoding="utf-8")
    return f"# {path.name}\n\n```python\n{code}```\n"


def _reference() -> Iterator[tuple[str, str]]:
    """Yield (path, page) for each topic of names.md."""
    names = (ROOT / "docs/names.md").read_text(encoding="utf-8")
    for part in re.split(r"^## ", names, flags=re.MULTILINE)[1:]:
        title, _, table = part.partition("\n")
        entries = "\n".join(f"::: fleet_sim.{name}\n" for name in re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
        if entries:
            slug = re.sub(r"\W+", "_", title.strip().lower())
            yield f"reference/python/{slug}.md", f"# {title.strip()}\n\n{entries}"


def _settings() -> str:
    from fleet_sim.apps.cli.scenario_schema import scenario_schema

    schema = scenario_schema()
    text = ["# Settings\n", "Every key of a scenario, from the declarations that read and check it.\n"]
    for name, section in sorted(schema["properties"].items()):
        text += [f"## {name}\n", section.get("description", ""), ""]
        rows = list(_rows(section, ""))
        if rows:
            text += ["| key | value | default | meaning |", "|---|---|---|---|", *rows, ""]
    return "\n".join(text)


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


def _commands() -> str:
    from fleet_sim.apps.cli.main import build_parser

    parser = build_parser([])
    text = ["# Commands\n", _block(parser.format_help())]
    for name, command in _subparsers(parser):
        text += [f"## fleet-sim {name}\n", _block(command.format_help())]
        for inner, further in _subparsers(command):
            text += [f"### fleet-sim {name} {inner}\n", _block(further.format_help())]
    return "\n".join(text)


def _subparsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"
