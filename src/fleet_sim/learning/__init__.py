"""Learning: Gymnasium and PettingZoo environments, and bin picking with a Franka arm."""
