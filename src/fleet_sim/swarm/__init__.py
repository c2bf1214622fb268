"""Swarm worlds: a population with controllers and sensors, objects, spawners, metrics and subscribers.

Read `world.py` first: it lists what happens in a step. What users write derives from a class in `base.py`.
"""
