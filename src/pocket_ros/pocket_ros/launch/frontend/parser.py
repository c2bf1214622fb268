"""From a launch file to a launch description."""

from __future__ import annotations

import importlib.metadata as importlib_metadata
import os
import traceback
import warnings
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, ClassVar, TextIO

from ..invalid_launch_file_error import InvalidLaunchFileError
from ..launch_description import LaunchDescription
from ..launch_description_entity import LaunchDescriptionEntity
from ..substitution import Substitution
from .entity import Entity
from .expose import instantiate_action
from .parse_substitution import parse_if_substitutions, parse_substitution, replace_escaped_characters


class InvalidFrontendLaunchFileError(InvalidLaunchFileError):
    """A launch file in XML or YAML that cannot be used."""


class Parser:
    """Reads launch files of all languages that there are, and makes actions of their tags.

    A language is a class derived from it, with `load` and `get_file_extensions`, that a distribution offers
    as an entry point of the group `launch.frontend.parser`. Tags and substitutions of one's own are exposed
    by modules that it names in the group `launch.frontend.launch_extension`.
    """

    extensions_loaded = False
    frontend_parsers: ClassVar[dict[str, type[Parser]] | None] = None
    _own_parsers: ClassVar[dict[str, type[Parser]]] = {}
    _own_extensions: ClassVar[list[Callable[[], None]]] = []

    @classmethod
    def load_launch_extensions(cls) -> None:
        """Import what exposes tags, once. What cannot be imported is warned of."""
        if Parser.extensions_loaded:
            return
        Parser.extensions_loaded = True
        for load in cls._own_extensions:
            load()
        for entry_point in _entry_points("launch.frontend.launch_extension"):
            try:
                entry_point.load()
            except Exception:
                _warn_of("launch", entry_point.name)

    @classmethod
    def load_parser_implementations(cls) -> dict[str, type[Parser]]:
        """The languages by name, found once. What cannot be imported is warned of."""
        if Parser.frontend_parsers is None:
            found = dict(cls._own_parsers)
            for entry_point in _entry_points("launch.frontend.parser"):
                try:
                    found[entry_point.name] = entry_point.load()
                except Exception:
                    _warn_of("parser", entry_point.name)
            Parser.frontend_parsers = dict(sorted(found.items()))
        return Parser.frontend_parsers

    def parse_action(self, entity: Entity) -> LaunchDescriptionEntity:
        """The action a tag stands for. Raises RuntimeError for an unknown tag, and what its class does."""
        self.load_launch_extensions()
        return instantiate_action(entity, self)

    def parse_substitution(self, value: str) -> list[Substitution]:
        """The texts and substitutions in a text. Raises ValueError."""
        return parse_substitution(value)

    def parse_if_substitutions(self, value: Any) -> Any:
        """Substitutions where a text has some; everything else as it is. Raises ValueError."""
        return parse_if_substitutions(value)

    def escape_characters(self, value: str) -> str:
        """A text in which nothing is substituted, without its backslashes."""
        return replace_escaped_characters(value)

    def parse_description(self, entity: Entity) -> LaunchDescription:
        """The description a root tag stands for. Raises RuntimeError for a root of another name."""
        if entity.type_name != "launch":
            raise RuntimeError(f"a launch file begins with 'launch', not with '{entity.type_name}'")
        self.load_launch_extensions()
        deprecated = entity.get_attr("deprecated", optional=True)
        entity.get_attr("version", optional=True)  # of the format; there is one
        actions = [self.parse_action(child) for child in entity.children]
        entity.assert_entity_completely_parsed()
        return LaunchDescription(actions, deprecated_reason=deprecated)

    @classmethod
    def get_available_extensions(cls) -> Iterable[str]:
        """The names of the languages."""
        return cls.load_parser_implementations().keys()

    @classmethod
    def is_extension_valid(cls, extension: str) -> bool:
        """Deprecated: whether there is a language of that name."""
        warnings.warn("use Parser.is_filename_valid instead of is_extension_valid", stacklevel=2)
        return extension in cls.load_parser_implementations()

    @classmethod
    def get_parser_from_extension(cls, extension: str) -> type[Parser]:
        """Deprecated: a language by its name. Raises RuntimeError."""
        warnings.warn("use Parser.get_parsers_from_filename instead", stacklevel=2)
        parsers = cls.load_parser_implementations()
        if extension not in parsers:
            raise RuntimeError(f"no language '{extension}'; there are: {', '.join(parsers)}")
        return parsers[extension]

    @classmethod
    def may_parse(cls, filename: str) -> bool:
        """Whether files with such a name are in this language."""
        return any(filename.endswith(f".{extension}") for extension in cls.get_file_extensions())

    @classmethod
    def is_filename_valid(cls, filename: str) -> bool:
        """Whether files with such a name are in any language."""
        return bool(cls.get_parsers_from_filename(filename))

    @classmethod
    def get_parsers_from_filename(cls, filename: str) -> list[type[Parser]]:
        """The languages in which files with such a name may be."""
        return [parser for parser in cls.load_parser_implementations().values() if parser.may_parse(filename)]

    @classmethod
    def get_file_extensions_from_parsers(cls) -> set[str]:
        """The endings of launch files in all languages."""
        parsers = cls.load_parser_implementations().values()
        return {extension for parser in parsers for extension in parser.get_file_extensions()}

    @classmethod
    def load(cls, file: str | PathLike[str] | TextIO) -> tuple[Entity, Parser]:
        """The root tag of a file, and the parser for its language, chosen by its name or else tried out.

        Raises OSError, and InvalidFrontendLaunchFileError with what each language complained about.
        """
        if isinstance(file, str | PathLike):
            with open(file, encoding="utf-8") as stream:
                return cls.load(stream)
        name = str(getattr(file, "name", ""))
        likely = cls.get_parsers_from_filename(name)
        others = [parser for parser in cls.load_parser_implementations().values() if parser not in likely]
        errors: list[Exception] = []
        for parser in (*likely, *others):
            try:
                return parser.load(file)
            except Exception as error:
                errors.append(error)
                file.seek(0)
        ending = os.path.splitext(name)[1][1:] if likely else ""
        raise InvalidFrontendLaunchFileError(ending, likely_errors=errors)

    @classmethod
    def get_file_extensions(cls) -> set[str]:
        """The endings of launch files in this language."""
        return set()


def offer_parser(name: str, parser: type[Parser]) -> None:
    """Let files be read by one of the parsers that come along."""
    Parser._own_parsers[name] = parser


def offer_extension(load: Callable[[], None]) -> None:
    """Have a function called before the first tag is looked up, which exposes further ones."""
    Parser._own_extensions.append(load)


def _entry_points(group: str) -> Iterable[Any]:
    found: Any = importlib_metadata.entry_points()
    chosen: Iterable[Any] = found.select(group=group) if hasattr(found, "select") else found.get(group, [])
    return chosen


def _warn_of(kind: str, name: str) -> None:
    warnings.warn(f"Failed to load the {kind} extension: {name}\n{traceback.format_exc()}", stacklevel=3)
