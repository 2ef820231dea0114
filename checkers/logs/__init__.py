"""Theorems on logs whose server gives the offsets: linearizable, sequential, sessions, staleness, deliveries."""
