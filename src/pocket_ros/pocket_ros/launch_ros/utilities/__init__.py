"""Names, remappings and parameters as nodes get them."""

from .namespaces import is_namespace_absolute, is_root_namespace, make_namespace_absolute, prefix_namespace
from .parameters import evaluate_parameters, normalize_parameters, to_parameters_list

__all__ = [
    "evaluate_parameters",
    "is_namespace_absolute",
    "is_root_namespace",
    "make_namespace_absolute",
    "normalize_parameters",
    "prefix_namespace",
    "to_parameters_list",
]
