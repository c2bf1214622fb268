"""Loads YAML files as mappings: rejects duplicate keys; errors name file and line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import yaml

from fleet_sim.base.errors import ConfigError, InvalidValueError, did_you_mean, of_extra
from fleet_sim.base.files import as_path, is_folder, is_remote, names_in, read_text
from fleet_sim.base.gate import MOST_IN_FILE, MOST_REMOTE, check_nodes, check_text
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


# Templates of YAML files: texts that become YAML once their variables have values. `#%> set height = width / 2` is a
# statement on a line of its own, `<% if width > 3 %>` one within a line, and `<{ height }>` a value. Only files that
# a user names are rendered, never what comes in a message.


_EXPRESSION = re.compile(r"<\{.*?\}>|<%.*?%>")


class Variables:
    """The values of a template's variables, and which of them the files ask for."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values = dict(values or {})
        self.known: set[str] = set()
        """What the files ask for, given or not."""

    def check_used(self, source: str) -> None:
        """Raise ConfigError where a value was given that no file asks for."""
        for name in self.values:
            if name not in self.known:
                what = "its templates have no such variable" if self.known else "it is not a template with variables"
                raise ConfigError(f"{name}: {what}.{did_you_mean(name, self.known)}", source=source)

    def inside(self, exported: Mapping[str, Any]) -> Variables:
        """Return these variables for a file that is included, with what its parent has set."""
        # What was given for the run wins over what the parent has set.
        inner = Variables({**exported, **self.values})
        # One set for all files, as a value may be for any of them.
        inner.known = self.known
        return inner


def first_sign(text: str) -> tuple[int, str, str] | None:
    """Return (number, line, what) of the first line of `text` that is part of a template, or None."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#%"):
            return number, line.strip(), "a statement"
        # What is behind a # is a comment: statements were looked for above.
        if _EXPRESSION.search(line.split("#", 1)[0]):
            return number, line.strip(), "an expression"
    return None


def refuse(text: str, source: str) -> None:
    """Refuse a template where plain YAML is read, which takes its lines for comments and texts; raises ConfigError."""
    sign = first_sign(text)
    if sign is not None:
        number, line, what = sign
        raise ConfigError(
            f"line {number}: {shown(line)} is {what} of a Jinja template, and this file is read as plain YAML; write"
            " the value, `!np pi / 4` for arithmetic, or read it as a swarm world, which may be a template:"
            " config_from_yaml(path, width=6), or fleet-sim swarm FILE --set width=6",
            source=source,
        )


def render(text: str, variables: Variables, source: str) -> tuple[str, dict[str, Any]]:
    """Return `text` with its variables filled in, and what it has set; a text that is not a template stays as it is.

    Raises ConfigError with the line for what is not allowed, for an unknown variable and for what would take too long,
    and MissingDependencyError where Jinja2 is needed and not there.
    """
    if first_sign(text) is None:
        return text, {}
    with of_extra("jinja2", "template", f"{source}, a template,"):
        import jinja2  # noqa: F401  # it is only asked for
    # Here, as only templates need it.
    from fleet_sim.base.settings.jinja import WorldTemplate

    template = WorldTemplate(text, source)
    variables.known |= template.names
    return template.render(variables.values)


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
            refuse(text, str(file))
        else:
            text, exported = render(text, variables, str(file))
            inner = variables.inside(exported)
        load = partial(self._load, variables=inner)
        return _quoted(text), with_tags(_Loader, file, load, depth=depth, values=self._values)

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
