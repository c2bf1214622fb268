"""From text with `$(name words…)` in it to substitutions."""

from __future__ import annotations

import re
from typing import Any

from ...module_places import not_covered
from ..substitution import Substitution
from ..substitutions.text_substitution import TextSubstitution
from ..utilities.embedded import Call, Part, parse_embedded
from .expose import instantiate_substitution


def replace_escaped_characters(data: str) -> str:
    """The text without the backslashes, each of which takes its meaning from the character behind it."""
    return re.sub(r"\\(.)", r"\1", data)


def parse_substitution(string_value: str) -> list[Substitution]:
    """The texts and substitutions in a text; what they give is not looked at again.

    Raises ValueError for a substitution that does not exist, is badly written or has too few or many words.
    """
    return _substitutions(parse_embedded(string_value)) or [TextSubstitution(text="")]


def _substitutions(parts: tuple[Part, ...]) -> list[Substitution]:
    return [_made(part) if isinstance(part, Call) else TextSubstitution(text=part) for part in parts]


def _made(call: Call) -> Substitution:
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
    if len(found) == 1 and isinstance(found[0], TextSubstitution):
        return found[0].text
    return found


__getattr__ = not_covered("launch.frontend.parse_substitution")
