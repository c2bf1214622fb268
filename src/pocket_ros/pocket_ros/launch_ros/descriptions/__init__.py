"""Parameters, under the name that launch files import them by."""

from __future__ import annotations

from ...places import not_covered, offer_places
from ..parameter_descriptions import Parameter, ParameterFile, ParameterValue

__all__ = ["Parameter", "ParameterFile", "ParameterValue"]

offer_places(__name__)
__getattr__ = not_covered("launch_ros.descriptions")
