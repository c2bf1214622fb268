"""Who serves which order: one allocator per file.

`allocator.py` has the protocol and what an allocator is asked. An allocator proposes; `round.py` checks the answer, so
that a faulty one cannot give an order to two robots. New ones get their name in `registry.py`, or by an entry point of
the group `fleet_sim.allocator`.
"""
