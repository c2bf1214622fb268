"""What `<param>` means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from ..substitution import Substitution
from .entity import EmbeddedText, Entity, InvalidLaunchEntityError

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

_SCALARS: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
_LISTS = {"list_of_str": str, "list_of_int": int, "list_of_float": float, "list_of_bool": bool}


class _Separated(Substitution):
    """A text that is a list, as YAML: items are told apart before what is embedded in them is read."""

    def __init__(self, text: str, separator: str, item_type: type | None) -> None:
        self._items = [EmbeddedText(item) for item in text.split(separator)]
        self._item_type = item_type

    def perform(self, context: LaunchContext) -> str:
        from ...launch_ros.utilities.parameter_values import text_to_value

        texts = [item.perform(context) for item in self._items]
        items: list[Any] = [text_to_value(text, self._item_type) for text in texts]
        kinds = {type(item) for item in items}
        if len(kinds) > 1 and kinds != {int, float}:
            items = list(texts)  # of no common type: they are texts
        text: str = yaml.safe_dump(items, default_flow_style=True, allow_unicode=True)
        return text


def parameters(entity: Entity) -> list[Any]:
    """The parameters and parameter files of a node. Raises InvalidLaunchEntityError."""
    from ...launch_ros.parameter_descriptions import ParameterFile

    found: list[Any] = []
    for child in entity.children:
        if child.tag != "param":
            continue
        file = child.optional("from")
        if file is not None:
            found.append(ParameterFile(file, allow_substs=child.flag("allow_substs", False)))
            child.finish()
        else:
            found.append(_parameter(child))
    return found


def _parameter(entity: Entity) -> dict[Any, Any]:
    name = entity.text("name").text
    nested = entity.inside({"param"})
    value: Any = {key: item for child in nested for key, item in _parameter(child).items()}
    if not nested:
        value = _value(entity)
    entity.finish()
    return {name: value}


def _value(entity: Entity) -> Any:
    from ...launch_ros.parameter_descriptions import ParameterValue

    given, separator = entity.optional("type"), entity.optional("value-sep")
    kind = None if given is None else given.text
    if kind is not None and kind not in {**_SCALARS, **_LISTS}:
        allowed = ", ".join({**_SCALARS, **_LISTS})
        raise InvalidLaunchEntityError(f"<param type> must be one of {allowed}, got '{kind}'")
    text, item_type = entity.text("value"), _LISTS.get(kind or "")
    value_type: Any = _SCALARS.get(kind or "") if item_type is None else list[item_type]  # type: ignore[valid-type]
    if separator is None:
        return ParameterValue(text, value_type=value_type)
    if kind in _SCALARS:
        raise InvalidLaunchEntityError(
            f"<param value-sep> makes a list: its type is list_of_{kind}, not {kind}"
        )
    if not separator.text:
        raise InvalidLaunchEntityError("<param value-sep> must be the text between the items, it is empty")
    return ParameterValue(_Separated(text.text, separator.text, item_type), value_type=value_type)
