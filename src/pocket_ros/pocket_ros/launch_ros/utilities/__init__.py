"""Helpers for namespaces, names, remappings and parameters."""

from ...module_places import offer_modules
from .namespaces import is_namespace_absolute, is_root_namespace, make_namespace_absolute, prefix_namespace
from .normalize_remap_rule import normalize_remap_rule, normalize_remap_rules
from .parameters import (
    evaluate_parameter_dict,
    evaluate_parameters,
    normalize_parameter_dict,
    normalize_parameters,
    to_parameters_list,
)
from .track_node_names import add_node_name, get_node_name_count

evaluate_parameters_dict = evaluate_parameter_dict
normalize_parameters_dict = normalize_parameter_dict

__all__ = [
    "add_node_name",
    "evaluate_parameters",
    "evaluate_parameters_dict",
    "get_node_name_count",
    "is_namespace_absolute",
    "is_root_namespace",
    "make_namespace_absolute",
    "normalize_parameters",
    "normalize_parameters_dict",
    "normalize_remap_rule",
    "normalize_remap_rules",
    "prefix_namespace",
    "to_parameters_list",
]

_NAMESPACES = (is_namespace_absolute, is_root_namespace, make_namespace_absolute, prefix_namespace)
offer_modules(
    __name__,
    {
        "namespace_utils": {function.__name__: function for function in _NAMESPACES},
        "normalize_parameters": {
            "normalize_parameters": normalize_parameters,
            "normalize_parameter_dict": normalize_parameter_dict,
        },
        "evaluate_parameters": {
            "evaluate_parameters": evaluate_parameters,
            "evaluate_parameter_dict": evaluate_parameter_dict,
        },
        "to_parameters_list": {"to_parameters_list": to_parameters_list},
    },
)
