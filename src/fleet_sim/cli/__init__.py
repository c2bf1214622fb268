"""The command line: `fleet-sim`, one file per command."""
