"""Actions of launch tests."""

from ...module_places import offer_class_modules
from .processes import GTest, PyTest, Test
from .ready import ReadyToTest

__all__ = ["GTest", "PyTest", "ReadyToTest", "Test"]

offer_class_modules(__name__, gtest=[GTest], pytest=[PyTest])
