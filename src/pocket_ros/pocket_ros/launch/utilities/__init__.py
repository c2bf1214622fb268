"""Helpers for actions and substitutions."""

from .entities import normalize_to_list_of_entities
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
]
