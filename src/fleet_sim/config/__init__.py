"""The content of scenario files: sections, settings of a simulation and of its ROS interfaces, named choices.

`params.py` has the settings of a simulation, `scenario.py` the file as a whole, and `sections.py` the registry of
sections that parts above the simulation read. `modes.py` has the words that settings may be set to.
"""
