"""How substitutions are written in text: `$(name word 'two words' $(name word))`."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

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
