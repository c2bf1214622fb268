"""Loads YAML files as mappings: rejects duplicate keys; errors name file and line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import yaml

from fleet_sim.base.errors import ConfigError, InvalidValueError, did_you_mean
from fleet_sim.base.files import as_path, is_folder, is_remote, names_in, read_text
from fleet_sim.base.limits import MOST_IN_FILE, MOST_REMOTE, check_nodes, check_text
from fleet_sim.base.settings.expressions import Expression
from fleet_sim.base.settings.fields import shown
from fleet_sim.base.settings.reader import read

# Extensions of YAML in configuration files: `!np` arithmetic, `!include` of another file, `!relpath` for a path.


MOST_INCLUDES = 20
"""Maximum depth of included files."""

Load = Callable[[Path, int], Any]


def with_tags(
    base: type[yaml.SafeLoader], path: Path, load: Load, *, depth: int = 0, values: Mapping[str, Any] | None = None
) -> type[yaml.SafeLoader]:
    """Return a loader like `base` for the file `path` that supports the tags; `load(path, depth)` reads another file.

    Paths are relative to the folder of `path`. `values` are names that arithmetic may use. What a mapping includes as
    `<<` are defaults of its keys.
    """

    class TaggedLoader(base):  # type: ignore[misc,valid-type]  # a class for each file: YAML keeps constructors on it
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            merged = _take_includes(node)
            own: dict[Any, Any] = super().construct_mapping(node, deep)
            # The first of several counts, as YAML has it, and what the mapping says itself wins over all of them.
            for other in merged:
                own = {**_checked_defaults(other, include(self, other)), **own}
            return own

    def include(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        if depth >= MOST_INCLUDES:
            raise ConfigError(f"files include each other more than {MOST_INCLUDES} deep; is one including itself?")
        return load(path.parent / _text(node, "!include FILE"), depth + 1)

    def relpath(loader: yaml.SafeLoader, node: yaml.Node) -> str:
        return str(path.parent / _text(node, "!relpath FILE"))

    def arithmetic(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        # Of a list, each item: `!np [pi / 2, 1e-2]`.
        if isinstance(node, yaml.SequenceNode):
            return [arithmetic(loader, item) for item in node.value]
        try:
            return Expression(_text(node, "!np pi / 2")).value(values)
        except InvalidValueError as error:
            raise ConfigError(f"line {node.start_mark.line + 1}: {error}") from error

    for tag, construct in (("!include", include), ("!relpath", relpath), ("!np", arithmetic)):
        TaggedLoader.add_constructor(tag, construct)
    return TaggedLoader


def _checked_defaults(node: yaml.Node, found: Any) -> dict[Any, Any]:
    if not isinstance(found, dict):
        line = node.start_mark.line + 1
        raise ConfigError(f"line {line}: <<: !include needs a file with a mapping, got {shown(found)}")
    return found


def _take_includes(node: yaml.MappingNode) -> list[yaml.Node]:
    """Take the files that are included as `<<` out of a mapping and return them, in their order."""
    taken: list[yaml.Node] = []
    for key, value in list(node.value):
        if key.tag != "tag:yaml.org,2002:merge":
            continue
        if value.tag == "!include":
            node.value.remove((key, value))
            taken.append(value)
        elif isinstance(value, yaml.SequenceNode):
            included = [item for item in value.value if item.tag == "!include"]
            value.value = [item for item in value.value if item.tag != "!include"]
            taken += included
    return taken


def _text(node: yaml.Node, example: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise ConfigError(f"line {node.start_mark.line + 1}: {node.tag} takes one text, as in {example}")
    return str(node.value)


# Templates, whose lines YAML takes for comments and texts, are refused.


_EXPRESSION = re.compile(r"<\{.*?\}>|<%.*?%>")


def _refuse_template(text: str, source: str) -> None:
    """Raise ConfigError where a text has statements or expressions of a Jinja template of RobotSwarmSimulator."""
    for number, line in enumerate(text.splitlines(), start=1):
        # What is behind a # is a comment, but for statements.
        if line.lstrip().startswith("#%") or _EXPRESSION.search(line.split("#", 1)[0]):
            raise ConfigError(
                f"line {number}: {shown(line.strip())} is of a Jinja template, which is not read here; fill it in with"
                " Jinja first, or write the value: `!np pi / 4` for arithmetic",
                source=source,
            )


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


DEEPEST = 50
"""Lists and mappings inside of each other in a text of a message: PyYAML takes time with their square."""


class _RemoteLoader(_Loader):
    """For texts in messages."""

    most = MOST_REMOTE

    def fetch_flow_collection_start(self, token: type[yaml.Token]) -> None:
        self._check_depth()
        super().fetch_flow_collection_start(token)

    def add_indent(self, column: int) -> bool:
        self._check_depth()
        added: bool = super().add_indent(column)
        return added

    def _check_depth(self) -> None:
        if self.flow_level + len(self.indents) >= DEEPEST:
            raise InvalidValueError(f"is nested too deep, more than {DEEPEST} levels")


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


def load_documents(path: str | Path) -> list[Any]:
    """Return the documents in the YAML file `path`, which are separated by `---`; raises as `load_mapping` does."""
    return [document for document in _Reading(None).documents(as_path(path)) if document is not None]


class _Reading:
    """Reads one file, and those that it includes."""

    def __init__(self, values: Mapping[str, Any] | None) -> None:
        """`values` are names for arithmetic."""
        self._values = values
        self._read: list[Path] = []

    def documents(self, file: Path) -> list[Any]:
        """Return the documents in `file`."""
        text, loader = self._prepare(file, 0)
        return _guarded(lambda: list(yaml.load_all(text, Loader=loader)), str(file))

    def load(self, file: Path, depth: int = 0) -> Any:
        """Return what is in `file`, included by `depth` others; pictures and plain texts are returned as text."""
        if depth and file.suffix.lower() in TEXTS:
            return self._text_of(file)
        text, loader = self._prepare(file, depth)
        return _parse(text, str(file), loader)

    def _prepare(self, file: Path, depth: int) -> tuple[str, type[yaml.SafeLoader]]:
        """Return the YAML text of `file`, and what loads it."""
        text = self._text_of(file)
        _refuse_template(text, str(file))
        return _quoted(text), with_tags(_Loader, file, self.load, depth=depth, values=self._values)

    def _text_of(self, file: Path) -> str:
        """Return the text of a file; raises ConfigError for folders, devices, and files that are too large."""
        self._read.append(file)
        if len(self._read) > MOST_FILES:
            raise ConfigError(f"more than {MOST_FILES} files are included; do files include each other twice?")
        try:
            return read_text(file, LARGEST_FILE)
        except FileNotFoundError:
            _fail_missing(file)
        except UnicodeDecodeError as error:
            raise ConfigError(f"must be text in UTF-8: {error}", source=str(file)) from error
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", source=str(file)) from error
        except InvalidValueError as error:
            raise ConfigError(str(error), source=str(file)) from error
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
    if not is_folder(file.parent) and not is_remote():
        raise ConfigError(f"there is no such file: the folder {str(file.parent)!r} does not exist", source=str(file))
    near = did_you_mean(file.name, names_in(file.parent, ".yaml", ".yml"))
    raise ConfigError(f"there is no such file.{near}", source=str(file))
