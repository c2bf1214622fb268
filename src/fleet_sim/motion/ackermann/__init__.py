"""The law of cars: arcs not tighter than they can steer, and straight lines, to exactly where they are sent."""
