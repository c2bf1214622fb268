"""`ros2 wtf`: another name of `ros2 doctor`."""

from .doctor import add_arguments

__all__ = ["add_arguments"]
