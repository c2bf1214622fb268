"""What everything else is built on: errors, arrays, settings, files, rotations, kernels. It knows nothing of robots."""
