"""The clients that load a cluster and record what it answers."""
