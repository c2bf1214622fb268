"""Conditions for actions."""

from ...module_places import offer_class_modules, offer_modules
from .evaluate_condition_expression import (
    VALID_FALSE_EXPRESSIONS,
    VALID_TRUE_EXPRESSIONS,
    InvalidConditionExpressionError,
    evaluate_condition_expression,
)
from .if_condition import IfCondition, UnlessCondition
from .launch_configuration_equals import LaunchConfigurationEquals, LaunchConfigurationNotEquals

__all__ = [
    "IfCondition",
    "InvalidConditionExpressionError",
    "LaunchConfigurationEquals",
    "LaunchConfigurationNotEquals",
    "UnlessCondition",
    "evaluate_condition_expression",
]

offer_class_modules(__name__)
offer_modules(
    __name__,
    {
        "evaluate_condition_expression_impl": {
            "VALID_FALSE_EXPRESSIONS": VALID_FALSE_EXPRESSIONS,
            "VALID_TRUE_EXPRESSIONS": VALID_TRUE_EXPRESSIONS,
            "evaluate_condition_expression": evaluate_condition_expression,
        }
    },
)
