"""Collisions on columns: broad phase, narrow phase, pair differences, blocking. No physics engine in here."""
