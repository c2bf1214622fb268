"""What `<param>` means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List  # noqa: UP035 - entities are asked for typing.List

import yaml

from ...launch.frontend.entity import Entity
from ...launch.frontend.parser import Parser
from ...launch.frontend.type_utils import get_data_type_from_identifier
from ...launch.substitution import Substitution
from ...launch.utilities import perform_substitutions
from ...launch.utilities.type_utils import extract_type
from ..parameter_descriptions import ParameterFile, ParameterValue
from ..utilities.parameter_values import text_to_value

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


def parse_parameters(params: list[Entity], parser: Parser) -> list[Any]:
    """The parameter files and dictionaries that tags stand for.

    Raises RuntimeError and ValueError for tags that say too little or too much, TypeError for bad values.
    """
    found: list[Any] = []
    for param in params:
        file = param.get_attr("from", optional=True)
        name = param.get_attr("name", optional=True)
        if (file is None) == (name is None):
            raise ValueError("`param` needs one of the attributes 'name' and 'from'")
        if file is not None:
            allowed = param.get_attr("allow_substs", data_type=bool, optional=True)
            allowed = parser.parse_substitution(allowed) if isinstance(allowed, str) else bool(allowed)
            found.append(ParameterFile(parser.parse_substitution(file), allow_substs=allowed))
            param.assert_entity_completely_parsed()
        else:
            found.append(_parse_named(param, parser))
    return found


def _parse_named(param: Entity, parser: Parser) -> dict[Any, Any]:
    if param.get_attr("allow_substs", optional=True) is not None:
        raise RuntimeError("'allow_substs' of `param` goes with 'from', not with 'name'")
    name = tuple(parser.parse_substitution(param.get_attr("name")))
    kind = param.get_attr("type", optional=True)
    nested = param.get_attr("param", data_type=List[Entity], optional=True)  # noqa: UP006
    if nested and kind is not None:
        raise RuntimeError("`param` with others inside it has no 'type' of its own")
    if nested:
        value: Any = {key: item for child in nested for key, item in _parse_named(child, parser).items()}
    else:
        value = _parse_value(param, parser, kind)
    param.assert_entity_completely_parsed()
    return {name: value}


def _parse_value(param: Entity, parser: Parser, kind: str | None) -> ParameterValue:
    data_type = None if kind is None else get_data_type_from_identifier(kind)
    separated = param.get_attr("value-sep", optional=True) is not None
    written = _written(param, separated)
    if not isinstance(written, list):
        return ParameterValue(parser.parse_substitution(written), value_type=data_type)
    item_type, is_list = (None, True) if data_type is None else extract_type(data_type)
    if not is_list:
        raise TypeError(f"'value' of `param` is a list: its type is list_of_{kind}, not {kind}")
    if separated:
        return ParameterValue(_Separated(written, item_type, parser), value_type=data_type)
    return ParameterValue([parser.parse_if_substitutions(item) for item in written], value_type=data_type)


def _written(param: Entity, separated: bool) -> str | list[Any]:
    if separated:
        texts: list[Any] = param.get_attr("value", data_type=List[str])  # noqa: UP006
        return texts
    try:
        text: str = param.get_attr("value")
    except TypeError:  # a list, as YAML has them
        values: list[Any] = param.get_attr("value", data_type=None)
        return values
    return text


class _Separated(Substitution):
    """A text that is a list, as YAML: items are told apart before what is embedded in them is read."""

    def __init__(self, texts: list[str], item_type: object, parser: Parser) -> None:
        self._items = [parser.parse_substitution(text) for text in texts]
        self._item_type = item_type

    def perform(self, context: LaunchContext) -> str:
        texts = [perform_substitutions(context, item) for item in self._items]
        items: list[Any] = [text_to_value(text, self._item_type) for text in texts]
        kinds = {type(item) for item in items}
        if len(kinds) > 1 and kinds != {int, float}:
            items = list(texts)  # of no common type: they are texts
        text: str = yaml.safe_dump(items, default_flow_style=True, allow_unicode=True)
        return text
