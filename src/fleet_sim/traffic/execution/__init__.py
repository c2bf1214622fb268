"""Execution: robots drive planned paths, keeping the order in which the plan lets them pass every node.

A late robot makes others wait and never makes them meet: `graph.py` keeps who passes a node after whom, `law.py` grants
nodes and moves robots, all in one compiled call per step.
"""
