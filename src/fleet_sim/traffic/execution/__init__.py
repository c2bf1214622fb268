"""Execution: robots drive planned paths, keeping the order in which the plan lets them pass every node."""
