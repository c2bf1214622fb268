"""Wheels that turn with the distance driven, on robots that no motor moves. `feature.py` connects them."""
