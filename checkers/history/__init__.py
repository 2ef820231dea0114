"""A run's history in memory: its columns, the cluster over time, what faults did, and the fate of each message."""
