"""What descriptors allow: types, ranges, steps, read-only."""

from __future__ import annotations

import math
from typing import Any

from .parameter import Parameter


def refusal(
    parameter: Parameter, descriptor: Any, declared: bool, check_read_only: bool, tolerance: float
) -> str:
    """Why a descriptor does not allow a value.

    Empty where it does. A dynamically typed descriptor takes the type. Of floating point numbers `tolerance`
    is what counts as equal, relative to the larger one.
    """
    if check_read_only and descriptor.read_only:
        return f"Trying to set a read-only parameter: {parameter.name}."
    kind = parameter.type_
    if descriptor.dynamic_typing:
        descriptor.type = kind.value
    elif declared and kind is Parameter.Type.NOT_SET:
        return "Static parameter cannot be undeclared"
    elif kind is not Parameter.Type.NOT_SET and kind.value != descriptor.type:
        return f"Wrong parameter type, expected '{Parameter.Type(descriptor.type)}' got '{kind}'"
    if kind is Parameter.Type.INTEGER and descriptor.integer_range:
        return _outside(parameter, descriptor.integer_range[0], 0.0)
    if kind is Parameter.Type.DOUBLE and descriptor.floating_point_range:
        return _outside(parameter, descriptor.floating_point_range[0], tolerance)
    return ""


def _outside(parameter: Parameter, limits: Any, tolerance: float) -> str:
    """The texts differ by type because rclpy's do, and programs show and compare them."""
    value = parameter.value
    whole = parameter.type_ is Parameter.Type.INTEGER
    low = min(limits.from_value, limits.to_value)
    high = max(limits.from_value, limits.to_value)
    if any(math.isclose(value, edge, rel_tol=tolerance, abs_tol=0.0) for edge in (low, high)):
        return ""
    if not low < value < high:
        stop = "." if whole else ""
        return f"Parameter {parameter.name} out of range{stop} Min: {low}, Max: {high}, value: {value}"
    if limits.step:
        nearest = low + round((value - low) / limits.step) * limits.step
        if not math.isclose(nearest, value, rel_tol=tolerance, abs_tol=0.0):
            verdict = "not a valid step" if whole else "not close enough to a valid step"
            return (
                f"The parameter value for {parameter.name} is {verdict}. "
                f"Min: {low}, max: {high}, value: {value}, step: {limits.step}"
            )
    return ""
