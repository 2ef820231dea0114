"""Histories of others, read into calls: Jepsen's EDN and text logs, JSON of Elle's kind, S2's streams."""
