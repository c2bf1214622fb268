"""What vehicles do besides driving: the actions of nodes, edges and instant messages, one class each.

`action.py` is the interface and `worker.py` runs them by their blocking types. `offer.py` registers them, yours too,
and is the source of the factsheet's list.
"""
