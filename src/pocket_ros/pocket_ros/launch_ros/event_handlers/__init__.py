"""Handlers for the events of nodes."""

from .on_state_transition import OnStateTransition

__all__ = ["OnStateTransition"]
