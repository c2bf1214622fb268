"""XML elements with line numbers, and parsing of numbers with errors that name the place.

Namespace prefixes are dropped, and undeclared ones are accepted, as robot descriptions often have leftovers of tools.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from xml.parsers import expat

from fleet_sim.base import files
from fleet_sim.base.errors import InvalidValueError, did_you_mean

MAX_BYTES = 64 * 1024 * 1024
"""Size of the largest description file that is read; larger files are rejected."""

MOST_NESTED = 320
"""Elements inside each other, the bodies of MJCF among them."""

MOST_ELEMENTS = 500_000

_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_OPTENV = re.compile(r"\$\(optenv\s+(\w+)\s*([^)]*)\)")


class Element:
    """One element: its tag, attributes, child elements, text, and its file and line."""

    __slots__ = ("attributes", "children", "line", "source", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], source: str, line: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element] = []
        self.text = ""
        self.source = source
        self.line = line

    def __str__(self) -> str:
        name = self.attributes.get("name") or self.attributes.get("file")
        return f"<{self.tag} {name!r}>" if name else f"<{self.tag}>"

    def error(self, message: str) -> InvalidValueError:
        """Return an error with the place of this element and `message`."""
        return InvalidValueError(f"{self.source}, line {self.line}, {self}: {message}")

    def all(self, *tags: str) -> Iterator[Element]:
        """Yield the child elements with one of `tags`, in file order."""
        return (child for child in self.children if child.tag in tags)

    def child(self, tag: str) -> Element | None:
        """Return the first child element with `tag`, or None."""
        return next(self.all(tag), None)

    def walk(self, tag: str) -> Iterator[Element]:
        """Yield the elements with `tag` at any depth, in file order."""
        for child in self.children:
            if child.tag == tag:
                yield child
            yield from child.walk(tag)

    def need_child(self, tag: str) -> Element:
        """Return the first child element with `tag`; raises InvalidValueError if there is none."""
        found = self.child(tag)
        if found is None:
            raise self.error(f"needs a <{tag}> element.{did_you_mean(tag, {child.tag for child in self.children})}")
        return found

    def need(self, attribute: str) -> str:
        """Return the value of `attribute`; raises InvalidValueError if it is missing or empty."""
        value = self.attributes.get(attribute, "")
        if not value:
            raise self.error(f"needs the attribute {attribute!r}.{did_you_mean(attribute, self.attributes)}")
        return value

    def numbers(self, attribute: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """Return the `count` finite numbers of `attribute`; if it is missing, `default` if one is given."""
        if default is not None and attribute not in self.attributes:
            return default
        return self.parsed(self.need(attribute), count, attribute)

    def number(self, attribute: str, default: float | None = None) -> float:
        """Return the finite number of `attribute`; if it is missing, `default` if one is given."""
        return self.numbers(attribute, 1, None if default is None else (default,))[0]

    def text_numbers(self, count: int) -> tuple[float, ...]:
        """Return the `count` finite numbers that are this element's text."""
        return self.parsed(self.text, count, f"<{self.tag}>")

    def parsed(self, text: str, count: int, what: str) -> tuple[float, ...]:
        """Return the `count` finite numbers in `text`, separated by blanks or commas; raises InvalidValueError.

        As in PyBullet, surplus numbers of a vector are ignored; $(optenv NAME default) left by xacro is evaluated.
        """
        try:
            values = tuple(map(float, read_optenv(text).replace(",", " ").split()))
        except ValueError:
            values = ()
        # "0,5 1 1" is a decimal comma: read as a separator, the box would be 0 m long.
        if "," in text and len(values) > count > 1:
            raise self.error(
                f"{what} must be {count} finite numbers, got {text.strip()!r}; decimals are written as 0.5"
            )
        if len(values) < count or (count == 1 and len(values) > 1) or not all(map(math.isfinite, values)):
            kind = "a finite number" if count == 1 else f"{count} finite numbers"
            raise self.error(f"{what} must be {kind}, got {text.strip()!r}")
        return values[:count]


def read_optenv(text: str) -> str:
    """Return `text` with each $(optenv NAME default) left by xacro replaced by the variable or the default."""
    return _OPTENV.sub(lambda found: os.environ.get(found[1], found[2]), text)


def read_file(path: Path) -> Element:
    """Return the root element of the XML file `path`; raises InvalidValueError naming file and line."""
    return read_text(read_bytes(path), str(path))


def read_bytes(path: Path) -> bytes:
    """Return the content of a description file; raises InvalidValueError if it cannot be read or is too large."""
    try:
        size = files.status(path).st_size
        if size > MAX_BYTES:
            raise InvalidValueError(f"{path}: {size} bytes are too many for a robot description ({MAX_BYTES} at most)")
        return files.read_bytes(path)
    except OSError as error:
        raise InvalidValueError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_text(content: bytes, source: str) -> Element:
    """Return the root element of XML `content`; errors (InvalidValueError) name it `source`."""
    return _Builder(source).build(content)


class _Builder:
    """Builds the tree of elements from what expat reports; for one document."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._open: list[Element] = []
        self._root: Element | None = None
        self._skipped_lines = 0
        self._count = 0
        # Without namespace processing, undeclared prefixes are not errors.
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.buffer_text = True

    def build(self, content: bytes) -> Element:
        """Return the root of the document; raises InvalidValueError with the line, also for what is too deep."""
        # "--" in a comment, blank lines before the XML declaration and a zero byte at the end are invalid but common.
        # Comments are replaced by their line ends, so that line numbers stay right.
        content = _COMMENT.sub(lambda found: b"\n" * found[0].count(b"\n"), content)
        stripped = content.lstrip()
        self._skipped_lines = content[: len(content) - len(stripped)].count(b"\n")
        try:
            self._parser.Parse(stripped.rstrip(b"\0 \t\r\n"), True)
        except expat.ExpatError as error:
            where = self._open[-1] if self._open else None
            inside = f" inside {where} that starts in line {where.line}" if where else ""
            raise InvalidValueError(
                f"{self._source}, line {error.lineno + self._skipped_lines}: no well-formed XML"
                f"{inside} ({expat.errors.messages[error.code]}); is the file complete?"
            ) from error
        except (LookupError, ValueError) as error:
            # Decoders of Python, which expat asks for an encoding it does not know, raise what they like.
            if isinstance(error, InvalidValueError):
                raise
            raise InvalidValueError(
                f"{self._source}, line 1: its encoding cannot be read ({error}); use UTF-8"
            ) from error
        assert self._root is not None
        return self._root

    def _refuse_entity(self, name: str, *_: object) -> None:
        """Raise InvalidValueError: entities in entities make any text of a short one."""
        line = self._parser.CurrentLineNumber + self._skipped_lines
        raise InvalidValueError(f"{self._source}, line {line}: entities of its own (<!ENTITY {name[:40]}) are not read")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take in an element that begins; raises an error with its line for too many, or too deep ones."""
        plain = {name.rpartition(":")[2]: value for name, value in attributes.items()}
        line = self._parser.CurrentLineNumber + self._skipped_lines
        element = Element(tag.rpartition(":")[2], plain, self._source, line)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)
        self._count += 1
        if len(self._open) > MOST_NESTED:
            raise element.error(f"elements are nested more than {MOST_NESTED} deep")
        if self._count > MOST_ELEMENTS:
            raise element.error(f"a robot description has at most {MOST_ELEMENTS} elements")

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _data(self, text: str) -> None:
        if self._open:
            self._open[-1].text += text


def quoted(text: str) -> str:
    """Return `text` as the value of an attribute. The function of xml.sax would load urllib and all that it needs."""
    return f'"{escape(text)}"'
