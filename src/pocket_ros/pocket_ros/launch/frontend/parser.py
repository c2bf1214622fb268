"""From a launch file to a launch description."""

from __future__ import annotations

import difflib
import functools
import importlib.metadata as importlib_metadata
import inspect
import os
import re
import shlex
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, ClassVar, List, NamedTuple, TextIO, TypeVar, get_args  # noqa: UP035 - entities are asked for typing.List

from .. import description
from ..utilities import describe_substitutions, is_typing_list

# A tag of a launch file, whichever language it was written in.


class Entity:
    """Base of the tags of all languages: its attributes by name and type, and the tags inside it.

    Whatever it says must be asked for before `assert_entity_completely_parsed`, or that complains.
    """

    @property
    def type_name(self) -> str:
        """The name of the tag."""
        raise NotImplementedError(f"{type(self).__name__} must implement type_name")

    @property
    def parent(self) -> Entity | None:
        """The tag around it, or None."""
        raise NotImplementedError(f"{type(self).__name__} must implement parent")

    @property
    def children(self) -> list[Entity]:
        """All tags inside, which count as asked for."""
        raise NotImplementedError(f"{type(self).__name__} must implement children")

    def get_attr(
        self, name: str, *, data_type: Any = str, optional: bool = False, can_be_str: bool = True
    ) -> Any:
        """An attribute as a bool, a number, text, or a typing.List of them; None for any type.

        `List[Entity]` asks for the tags of that name inside. `can_be_str` lets text through that may become
        of the type once its substitutions are performed. An optional attribute that is missing is None.
        Raises AttributeError for another that is missing, TypeError for one of another type.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement get_attr()")

    def assert_entity_completely_parsed(self) -> None:
        """Raise ValueError for attributes and tags nobody has asked for."""
        raise NotImplementedError(f"{type(self).__name__} must implement assert_entity_completely_parsed()")


def describe_type(data_type: Any) -> str:
    """A type as the writer of a launch file knows it."""
    if data_type is bool:
        return "true or false"
    return str(getattr(data_type, "__name__", data_type)) if isinstance(data_type, type) else str(data_type)


def refuse_left_over(tag: str, what: str, left_over: Iterable[str], known: Iterable[str]) -> None:
    """Raise ValueError where something is left over, with the name that was probably meant."""
    names = sorted(left_over)
    if not names:
        return
    known = sorted(known)
    near = difflib.get_close_matches(names[0], known, n=1)
    allowed = f"did you mean '{near[0]}'?" if near else f"allowed: {', '.join(known) or 'nothing'}"
    listed = ", ".join(f"'{name}'" for name in names)
    raise ValueError(f"`{tag}` has no {what} {listed}; {allowed}")


# Tags and substitutions by name: how an action or a substitution makes itself known to launch files.


ParseMethod = Callable[..., tuple[Callable[..., Any], dict[str, Any]]]
Exposed = TypeVar("Exposed")

action_parse_methods: dict[str, ParseMethod] = {}
"""By tag; each takes an entity and a parser, and gives a class and the arguments to make it of."""
substitution_parse_methods: dict[str, ParseMethod] = {}
"""By name; each takes the words behind the name."""


class UnknownSubstitutionError(RuntimeError, ValueError):
    """A substitution in a text that nobody has exposed."""


class WordCountError(TypeError, ValueError):
    """A substitution in a text with too few or too many words."""


def instantiate_action(entity: Entity, parser: object) -> description.LaunchDescriptionEntity:
    """The action a tag stands for. Raises RuntimeError for an unknown tag, and what its parse method does."""
    tag = entity.type_name
    method = action_parse_methods.get(tag) or action_parse_methods.get(tag.replace("-", "_"))
    if method is None:
        near = difflib.get_close_matches(tag, action_parse_methods, n=1)
        listed = ", ".join(sorted(action_parse_methods))
        hint = f"did you mean <{near[0]}>?" if near else f"there are: {listed}"
        raise RuntimeError(f"unknown tag <{tag}>; {hint}")
    kind, arguments = method(entity, parser)
    action: description.LaunchDescriptionEntity = kind(**arguments)
    return action


def instantiate_substitution(
    type_name: str, args: Iterable[description.SomeSubstitutionsType] | None = None
) -> description.Substitution:
    """The substitution of a name. Raises UnknownSubstitutionError and WordCountError."""
    if type_name not in substitution_parse_methods:
        listed = ", ".join(sorted(substitution_parse_methods))
        raise UnknownSubstitutionError(f"unknown substitution '$({type_name} …)'; there are: {listed}")
    kind, arguments = substitution_parse_methods[type_name](list(args or ()))
    substitution: description.Substitution = kind(**arguments)
    return substitution


def expose_action(name: str) -> Callable[[Exposed], Exposed]:
    """Makes a class with a class method `parse(entity, parser)`, or such a function, the meaning of a tag.

    What the tag says beyond what was asked for is an error. Raises RuntimeError for a name that is taken, and
    for what cannot parse.
    """
    return __expose_impl(name, action_parse_methods, "action")


def expose_substitution(name: str) -> Callable[[Exposed], Exposed]:
    """Makes a class with a class method `parse(words)`, or such a function, the meaning of `$(name …)`.

    Raises RuntimeError as `expose_action`.
    """
    return __expose_impl(name, substitution_parse_methods, "substitution")


def __expose_impl(
    name: str, parse_methods_map: dict[str, ParseMethod], exposed_type: str
) -> Callable[[Exposed], Exposed]:
    def expose(exposed: Exposed) -> Exposed:
        method = _parse_method(name, exposed, exposed_type)
        known = parse_methods_map.get(name)
        if known is not None and getattr(known, "__wrapped__", known) != method:
            raise RuntimeError(f"Two {exposed_type} parsing methods exposed with the same name: [{name}].")
        parse_methods_map[name] = _complete(method) if exposed_type == "action" else method
        return exposed

    return expose


def _parse_method(name: str, exposed: object, exposed_type: str) -> ParseMethod:
    parse = getattr(exposed, "parse", None)
    if inspect.isclass(exposed):
        if inspect.ismethod(parse):
            return parse
        raise RuntimeError(
            f"Did not find a class method called 'parse' in {exposed.__name__}, exposed as {name}"
        )
    if inspect.isfunction(exposed):
        return exposed
    raise RuntimeError(
        f"Exposed {exposed_type} parser for {name} is not a callable or a class containing a parse method"
    )


def _complete(method: ParseMethod) -> ParseMethod:
    @functools.wraps(method)
    def parse(entity: Entity, parser: object) -> tuple[Callable[..., Any], dict[str, Any]]:
        found = method(entity, parser)
        entity.assert_entity_completely_parsed()
        return found

    return parse


def take_words(
    data: Sequence[description.SomeSubstitutionsType], substitution: str, *names: str, optional: int = 0
) -> dict[str, Any]:
    """Words by the names of arguments, of which the last ones may be missing. Raises WordCountError."""
    least = len(names) - optional
    if not least <= len(data) <= len(names):
        wanted = f"{least} to {len(names)}" if optional else str(least)
        raise WordCountError(
            f"'$({substitution} …)' has the wrong number of words: {len(data)}, it takes {wanted}"
        )
    return dict(zip(names, data, strict=False))


# How substitutions are written in text: `$(name word 'two words' $(name word))`.


_NAME = re.compile(r"[A-Za-z][\w-]*")
_ESCAPED = re.compile(r"\\(.)")
_FIRST_STAND_IN = 0xF0000  # a plane of characters for private use, which launch files do not


class Call(NamedTuple):
    """A substitution by its name, with its words; each word is of texts and further substitutions."""

    name: str
    words: tuple[tuple[str | Call, ...], ...]
    source: str


Part = str | Call


def parse_embedded(text: str) -> tuple[Part, ...]:
    """The texts and substitutions in a text. A backslash takes its meaning from the character behind it.

    Inside quotes the words of a further substitution end at spaces, and quotes are characters, as in ROS.
    Raises ValueError for a substitution without end or name, and for parentheses in it without quotes.
    """
    return _Reader(text).parts("")


def split_embedded(text: str) -> list[str]:
    """The words of a command line, each still with what is embedded in it; `$(...)` is never split.

    Raises ValueError as `parse_embedded`, and for a quote that does not end.
    """
    held: list[str] = []
    line, position = "", 0
    while position < len(text):
        end = position + 1
        if text.startswith("\\$", position):
            end += 1
        elif text.startswith("$(", position):
            reader = _Reader(text, position)
            reader.call("")
            end = reader.position
        if end == position + 1:
            line += text[position]
        else:
            line += chr(_FIRST_STAND_IN + len(held))
            held.append(text[position:end])
        position = end
    stand_ins = {_FIRST_STAND_IN + index: source for index, source in enumerate(held)}
    return [word.translate(stand_ins) for word in shlex.split(line)]


class _Reader:
    """Reads a text from a position on; `quote` is the quote it is inside of, or empty."""

    def __init__(self, text: str, position: int = 0) -> None:
        self.text = text
        self.position = position

    def parts(self, quote: str) -> tuple[Part, ...]:
        """Up to the quote, which is read too, or to the end of the text."""
        found: list[Part] = []
        while self.position < len(self.text):
            if quote and self._at(quote):
                self.position += 1
                return tuple(found)
            self._take(found, quote)
        if quote:
            raise ValueError(f"a {quote} is not closed in '{self.text}'")
        return tuple(found)

    def call(self, quote: str) -> Call:
        """A substitution, from its dollar to its closing parenthesis."""
        start = self.position
        name = _NAME.match(self.text, start + 2)
        if name is None:
            raise ValueError(
                f"'$(' without the name of a substitution in '{self.text}'; write \\$( for the text"
            )
        self.position = name.end()
        words: list[tuple[Part, ...]] = []
        while not self._at(")"):
            if self.position >= len(self.text):
                raise ValueError(f"'{self.text[start:]}' has no closing parenthesis")
            if self._at(" ", "\t", "\n", "\r"):
                self.position += 1
            else:
                words.append(self._word(quote))
        self.position += 1
        return Call(name.group(), tuple(words), self.text[start : self.position])

    def _word(self, quote: str) -> tuple[Part, ...]:
        found: list[Part] = []
        while self.position < len(self.text) and not self._at(" ", "\t", "\n", "\r", ")"):
            here = self.text[self.position]
            if here == "(":
                raise ValueError(
                    f"'{self.text}' has a parenthesis in a substitution; put the word in quotes or write \\("
                )
            if quote and here == quote:
                raise ValueError(
                    f"'{self.text}' has a {quote} inside a substitution inside {quote}; write \\{quote}"
                )
            if not quote and here in "'\"":
                self.position += 1
                found += self.parts(here)
            else:
                self._take(found, quote)
        return tuple(found)

    def _take(self, found: list[Part], quote: str) -> None:
        """A substitution, or a character, with the one behind it where it is a backslash."""
        if self._at("$("):
            found.append(self.call(quote))
            return
        escaped = _ESCAPED.match(self.text, self.position)
        character = self.text[self.position] if escaped is None else escaped.group(1)
        self.position += 1 if escaped is None else 2
        if found and isinstance(found[-1], str):
            found[-1] += character
        else:
            found.append(character)

    def _at(self, *texts: str) -> bool:
        return self.text.startswith(texts, self.position)


# From text with `$(name words…)` in it to substitutions.


def replace_escaped_characters(data: str) -> str:
    """The text without the backslashes, each of which takes its meaning from the character behind it."""
    return re.sub(r"\\(.)", r"\1", data)


def parse_substitution(string_value: str) -> list[description.Substitution]:
    """The texts and substitutions in a text; what they give is not looked at again.

    Raises ValueError for a substitution that does not exist, is badly written or has too few or many words.
    """
    return _substitutions(parse_embedded(string_value)) or [description.TextSubstitution(text="")]


def _substitutions(parts: tuple[Part, ...]) -> list[description.Substitution]:
    return [
        _made(part) if isinstance(part, Call) else description.TextSubstitution(text=part) for part in parts
    ]


def _made(call: Call) -> description.Substitution:
    return instantiate_substitution(call.name, [_substitutions(word) for word in call.words])


def parse_if_substitutions(value: Any) -> Any:
    """Substitutions for a text that has some, the text itself for one without; numbers stay as they are.

    A list is treated item by item. Raises ValueError where what is known of its items is not of one type.
    """
    if not isinstance(value, list):
        return _parse_one(value)
    found = [_parse_one(item) for item in value]
    if len({type(item) for item in found if not isinstance(item, list)}) > 1:
        raise ValueError(f"the items of a list must be of one type: {value!r}")
    return found


def _parse_one(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = parse_substitution(value)
    if len(found) == 1 and isinstance(found[0], description.TextSubstitution):
        return found[0].text
    return found


class InvalidFrontendLaunchFileError(description.InvalidLaunchFileError):
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

    def parse_action(self, entity: Entity) -> description.LaunchDescriptionEntity:
        """The action a tag stands for. Raises RuntimeError for an unknown tag, and what its class does."""
        self.load_launch_extensions()
        return instantiate_action(entity, self)

    def parse_substitution(self, value: str) -> list[description.Substitution]:
        """The texts and substitutions in a text. Raises ValueError."""
        return parse_substitution(value)

    def parse_if_substitutions(self, value: Any) -> Any:
        """Substitutions where a text has some; everything else as it is. Raises ValueError."""
        return parse_if_substitutions(value)

    def escape_characters(self, value: str) -> str:
        """A text in which nothing is substituted, without its backslashes."""
        return replace_escaped_characters(value)

    def parse_description(self, entity: Entity) -> description.LaunchDescription:
        """The description a root tag stands for. Raises RuntimeError for a root of another name."""
        if entity.type_name != "launch":
            raise RuntimeError(f"a launch file begins with 'launch', not with '{entity.type_name}'")
        self.load_launch_extensions()
        deprecated = entity.get_attr("deprecated", optional=True)
        entity.get_attr("version", optional=True)  # of the format; there is one
        actions = [self.parse_action(child) for child in entity.children]
        entity.assert_entity_completely_parsed()
        return description.LaunchDescription(actions, deprecated_reason=deprecated)

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


# What the tags of several actions have in common.


def texts(entity: Entity, parser: Parser, *names: str, **others: str) -> dict[str, Any]:
    """Required attributes as substitutions, by the name of the attribute or as argument=attribute."""
    wanted = {name: name for name in names} | others
    return {key: parser.parse_substitution(entity.get_attr(name)) for key, name in wanted.items()}


def optional_texts(entity: Entity, parser: Parser, *names: str, **others: str) -> dict[str, Any]:
    """The same for those that are given."""
    wanted = {name: name for name in names} | others
    given = {key: entity.get_attr(name, optional=True) for key, name in wanted.items()}
    return {key: parser.parse_substitution(text) for key, text in given.items() if text is not None}


def optional_values(entity: Entity, data_type: type, *names: str) -> dict[str, Any]:
    """Attributes of a type, no substitutions, as far as they are given."""
    given = {
        name: entity.get_attr(name, data_type=data_type, optional=True, can_be_str=False) for name in names
    }
    return {name: value for name, value in given.items() if value is not None}


def pairs(entity: Entity, parser: Parser, tag: str, first: str, second: str) -> list[tuple[Any, Any]]:
    """Two attributes of each tag of a name inside, as substitutions."""
    found = []
    for child in entity.get_attr(tag, data_type=List[Entity], optional=True) or ():  # noqa: UP006
        found.append(
            (
                tuple(parser.parse_substitution(child.get_attr(first))),
                parser.parse_substitution(child.get_attr(second)),
            )
        )
        child.assert_entity_completely_parsed()
    return found


# Types of attributes.


_TYPES: dict[str, Any] = {
    "str": str,
    "bool": bool,
    "float": float,
    "int": int,
    "list_of_str": List[str],  # noqa: UP006
    "list_of_bool": List[bool],  # noqa: UP006
    "list_of_float": List[float],  # noqa: UP006
    "list_of_int": List[int],  # noqa: UP006
    "yaml": None,
}


def check_is_list_entity(data_type: Any) -> bool:
    """Whether it is a typing.List of entities."""
    held = get_args(data_type) if is_typing_list(data_type) else ()
    return bool(held) and isinstance(held[0], type) and issubclass(held[0], Entity)


def get_data_type_from_identifier(type_identifier: str) -> Any:
    """The type that `<param type>` names; None for `yaml`, which is any. Raises ValueError."""
    if type_identifier not in _TYPES:
        allowed = ", ".join(_TYPES)
        raise ValueError(f"a type must be one of {allowed}, got '{type_identifier}'")
    return _TYPES[type_identifier]


# Substitutions whose words are arguments.


class Words(NamedTuple):
    """The words of `$(name …)`: the arguments that they are, of which the last may be missing."""

    name: str
    arguments: tuple[str, ...] = ()
    optional: int = 0
    described: str = ""
    """How a description calls the substitution, where it tells the first argument too."""


class SubstitutionOfWords(description.Substitution):
    """Base of the substitutions that take a fixed number of words: a class says which."""

    _ros_words: ClassVar[Words]

    @classmethod
    def parse(cls, data: Sequence[description.SomeSubstitutionsType]) -> description.ParsedSubstitution:
        """From the words behind the name. Raises WordCountError."""
        words = cls._ros_words
        return cls, take_words(data, words.name, *words.arguments, optional=words.optional)

    def describe(self) -> str:
        words = self._ros_words
        if not words.described:
            return super().describe()
        return f"{words.described}({describe_substitutions(getattr(self, words.arguments[0]))})"
