"""Helpers for actions and substitutions."""

from ...module_places import not_covered, offer_modules
from .entities import normalize_to_list_of_entities, visit_all_entities_and_collect_futures
from .substitutions import normalize_to_list_of_substitutions, perform_substitutions
from .types import ensure_argument_type, is_a, is_a_subclass, isclassinstance

__all__ = [
    "ensure_argument_type",
    "is_a",
    "is_a_subclass",
    "isclassinstance",
    "normalize_to_list_of_entities",
    "normalize_to_list_of_substitutions",
    "perform_substitutions",
    "visit_all_entities_and_collect_futures",
]

__getattr__ = not_covered("launch.utilities")

_TYPES = (ensure_argument_type, is_a, is_a_subclass, isclassinstance)
_SEQUENCES = (
    normalize_to_list_of_entities,
    normalize_to_list_of_substitutions,
    perform_substitutions,
    visit_all_entities_and_collect_futures,
)
offer_modules(
    __name__,
    {
        "class_tools_impl": {tool.__name__: tool for tool in _TYPES[1:]},
        "ensure_argument_type_impl": {"ensure_argument_type": ensure_argument_type},
        **{f"{function.__name__}_impl": {function.__name__: function} for function in _SEQUENCES},
    },
)
