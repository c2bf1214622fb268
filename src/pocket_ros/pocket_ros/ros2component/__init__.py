"""`ros2 component` for other programs."""

from ..ros2cli.extensions import offer_verb_module

offer_verb_module(__name__)
