"""Helpers for messages of sensor_msgs."""

from numpy.lib.recfunctions import structured_to_unstructured, unstructured_to_structured

from ..module_places import offer_modules

_FUNCTIONS = (structured_to_unstructured, unstructured_to_structured)
offer_modules(__name__, {"numpy_compat": {function.__name__: function for function in _FUNCTIONS}})
