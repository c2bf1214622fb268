"""Conditions for actions."""

from ...module_places import offer_class_modules
from .evaluate_condition_expression import InvalidConditionExpressionError, evaluate_condition_expression
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
