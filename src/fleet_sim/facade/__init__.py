"""The public interface of a simulation besides stepping it, one module per subject.

`simulation.py`, one folder up, puts these parts together as `sim.state`, `sim.view`, `sim.control` and so on. The files
`documented...` have the names that the documents promise, one line each; the work is done in the others.
"""
