"""Programs around simulations: the command line, the live view, recordings, reports, sweeps, verification."""
