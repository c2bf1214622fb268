"""The law of cars: arcs not tighter than they can steer, and straight lines, to exactly where they are sent.

`dubins.py` and `reeds_shepp.py` find curves, `planning.py` chooses among them, and `law.py` moves cars by one step. A
car is one whose entry has the key `ackermann`, see `settings.py`.
"""
