"""What `ros2 doctor` checks and reports, for programs that add to it."""

from ..ros2cli.extensions import offer_verb_module

offer_verb_module(__name__)
