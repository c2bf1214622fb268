"""Loads YAML files as mappings: rejects duplicate keys; errors name file and line."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import yaml

from fleet_sim.errors import ConfigError, InvalidValueError, did_you_mean
from fleet_sim.gate.data import MOST_IN_FILE, MOST_REMOTE, check_nodes, check_text
from fleet_sim.output import as_path
from fleet_sim.settings import templates
from fleet_sim.settings.reader import read
from fleet_sim.settings.tags import with_tags
from fleet_sim.settings.templates import Variables
from fleet_sim.settings.types import shown

LARGEST_FILE = 64 * 2**20
"""Bytes of a configuration."""
LONGEST_NUMBER = 1000
"""Characters of a number, or of anything else that is written without quotes and is not a text."""
_OF_NUMBERS = frozenset("0123456789+-._:eE")
MOST_FILES = 1000
"""Read for one configuration, counted each time they are included."""
TEXTS = (".svg", ".txt", ".xml")
"""Endings of files that are included as text."""

_LIST_ARITHMETIC = re.compile(
    r"""^(?P<tag>[^#'"\n]*?(?:[:]|^-|\s-)\s+!np\s+)(?P<expression>\[[^"'#\n]*\]\s*(?:[-+*/%])[^"'#\n]*?)(?P<rest>\s*(?:\#.*)?)$""",
    re.MULTILINE,
)

Parsed = TypeVar("Parsed")


def read_either(
    cls: type[Parsed], config: str | Path | Mapping[str, Any], check: Callable[[object, str], None]
) -> tuple[Parsed, str]:
    """Return the settings class `cls` read from a YAML file or a mapping, and the name of the file, else "".

    `check(config, source)` is called first, to recognize other kinds of files. Raises ConfigError naming what is wrong.
    """
    source = ""
    if isinstance(config, (str, Path)):
        source, config = str(config), load_mapping(config)
    check(config, source)
    return read(cls, config, source=source), source


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses duplicate keys and reads 1e-3 as a number, as YAML 1.2 and JSON do.

    What stands for more than `most` values is refused before any of them is made.
    """

    most = MOST_IN_FILE

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
        # The expressions that tell numbers from texts take time with the square of the length.
        if kind is yaml.ScalarNode and implicit[0] and len(value) > LONGEST_NUMBER:
            if _OF_NUMBERS.issuperset(value):
                raise InvalidValueError(f"a number of {len(value)} characters; at most {LONGEST_NUMBER} are read")
            return "tag:yaml.org,2002:str"
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]

    def compose_document(self) -> yaml.Node | None:
        node = super().compose_document()
        # An empty file has no node.
        if node is not None:
            check_nodes(node, self.most)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping; raises ConfigError with both lines for a key that is given twice."""
        seen: dict[object, int] = {}
        for key_node, _ in node.value:
            # A merge key (`<<`) brings defaults, whose keys may be given again.
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key, line = self.construct_object(key_node), key_node.start_mark.line + 1
            if key in seen:
                raise ConfigError(
                    f"line {line}: the key {key!r} is already given in line {seen[key]}; keep one of them"
                )
            seen[key] = line
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


class _RemoteLoader(_Loader):
    """For texts in messages."""

    most = MOST_REMOTE


def load_mapping(path: str | Path, *, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the mapping in the YAML file `path`; see `tags` for the supported extensions of YAML.

    `values` are names that arithmetic in it may use. Raises ConfigError naming the file if it is missing (with the
    closest name in its folder), not readable, not YAML (with line and column), a template (`#%>`, `<{ }>`), has a key
    twice, or is not a mapping.
    """
    data = _Reading(values).load(as_path(path))
    # An empty file, which is usually one that was not saved.
    if data is None:
        raise ConfigError("is empty; expected a mapping of keys to values", source=str(path))
    if not isinstance(data, dict):
        raise ConfigError(f"expected a mapping of keys to values, got {shown(data)}", source=str(path))
    return data


def load_documents(path: str | Path, variables: Variables) -> list[Any]:
    """Return the documents in the YAML file `path`, which are separated by `---`; it may be a template.

    `variables` are those of the template, and note which are asked for. Raises ConfigError as `load_mapping` does, and
    MissingDependencyError for a template without Jinja2.
    """
    return [document for document in _Reading(None, variables).documents(as_path(path)) if document is not None]


class _Reading:
    """Reads one file, and those that it includes."""

    def __init__(self, values: Mapping[str, Any] | None, variables: Variables | None = None) -> None:
        """`values` are names for arithmetic, `variables` those of templates; None: they are refused."""
        self._values = values
        self._variables = variables
        self._read: list[Path] = []

    def load(self, file: Path) -> Any:
        """Return what is in `file`."""
        return self._load(file, 0, self._variables)

    def documents(self, file: Path) -> list[Any]:
        """Return the documents in `file`."""
        text, loader = self._prepare(file, 0, self._variables)
        return _guarded(lambda: list(yaml.load_all(text, Loader=loader)), str(file))

    def _load(self, file: Path, depth: int, variables: Variables | None) -> Any:
        """Return what is in `file`, included by `depth` others; pictures and plain texts are returned as text."""
        if depth and file.suffix.lower() in TEXTS:
            return self._text_of(file)
        text, loader = self._prepare(file, depth, variables)
        return _parse(text, str(file), loader)

    def _prepare(self, file: Path, depth: int, variables: Variables | None) -> tuple[str, type[yaml.SafeLoader]]:
        """Return the YAML text of `file`, and what loads it."""
        text, inner = self._text_of(file), variables
        if variables is None:
            templates.refuse(text, str(file))
        else:
            text, exported = templates.render(text, variables, str(file))
            inner = variables.inside(exported)
        load = partial(self._load, variables=inner)
        return _quoted(text), with_tags(_Loader, file, load, depth=depth, values=self._values)

    def _text_of(self, file: Path) -> str:
        """Return the text of a file; raises ConfigError for folders, devices, and files that are too large."""
        self._read.append(file)
        if len(self._read) > MOST_FILES:
            raise ConfigError(f"more than {MOST_FILES} files are included; do files include each other twice?")
        try:
            status = file.stat()
            # Reading a pipe or a device may never end.
            if not stat.S_ISREG(status.st_mode):
                raise ConfigError("cannot be read: it is a folder or a device, not a file", source=str(file))
            if status.st_size > LARGEST_FILE:
                raise ConfigError(f"has {status.st_size} bytes, at most {LARGEST_FILE} are read", source=str(file))
            return file.read_text(encoding="utf-8")
        except FileNotFoundError:
            _fail_missing(file)
        except UnicodeDecodeError as error:
            raise ConfigError(f"must be text in UTF-8: {error}", source=str(file)) from error
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", source=str(file)) from error
        except ConfigError:
            raise
        except ValueError as error:
            raise ConfigError(f"is not a valid file name: {error}", source=repr(str(file))) from error


def _quoted(text: str) -> str:
    """Return `text` with quotes about arithmetic that begins with a list, `!np [1, 2] / 2`, which is not YAML."""
    return _LIST_ARITHMETIC.sub(r'\g<tag>"\g<expression>"\g<rest>', text)


def parse_value(text: str) -> Any:
    """Return one value written as in a file: `0.5`, `true`, `[1, 2]`; raises ConfigError if not YAML."""
    return _parse(text, "", _Loader)


def parse_remote(text: str, what: str) -> Any:
    """Return the YAML value in a text of a message; raises InvalidValueError naming `what`, also for one too large."""
    try:
        return _parse(check_text(text, what), "", _RemoteLoader)
    except ConfigError as error:
        raise InvalidValueError(f"{what}: {error}") from error


def _parse(text: str, source: str, loader: type[yaml.SafeLoader]) -> Any:
    return _guarded(lambda: yaml.load(text, Loader=loader), source)


def _guarded(parse: Callable[[], Parsed], source: str) -> Parsed:
    """Return `parse()`; what PyYAML raises is raised as a ConfigError that names `source`."""
    try:
        return parse()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError(f"{place}not valid YAML: {error.problem or error.context}", source=source) from error
    except yaml.YAMLError as error:
        raise ConfigError(f"not valid YAML: {error}", source=source) from error
    except RecursionError as error:
        raise ConfigError("is nested too deep", source=source) from error
    except ConfigError as error:
        raise error.within(source=source) from error
    except InvalidValueError as error:
        raise ConfigError(str(error), source=source) from error
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        # PyYAML lets through what Python's int, float, date, ... raise for `!!int abc` or 2001-99-99.
        raise ConfigError(f"not valid YAML: {type(error).__name__}: {str(error)[:200]}", source=source) from error


def _fail_missing(file: Path) -> NoReturn:
    if not os.path.isdir(file.parent):
        raise ConfigError(f"there is no such file: the folder {str(file.parent)!r} does not exist", source=str(file))
    names = [entry.name for entry in file.parent.iterdir() if entry.suffix in (".yaml", ".yml")]
    raise ConfigError(f"there is no such file.{did_you_mean(file.name, names)}", source=str(file))
