"""The topics and services of Open-RMF: what its simulation plugins speak."""
