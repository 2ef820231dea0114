"""The worlds a cluster can run in: simulator and processes."""
