"""Where programs look for rclpy's C extension."""

from .. import _rclpy_pybind11 as rclpy_implementation

package = "rclpy"

__all__ = ["package", "rclpy_implementation"]
