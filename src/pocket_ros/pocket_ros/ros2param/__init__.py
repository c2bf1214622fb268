"""What `ros2 param` is made of, for programs that extend it."""

from ..ros2cli.extensions import offer_verb_module

offer_verb_module(__name__)
