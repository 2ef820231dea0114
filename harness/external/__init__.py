"""Clients of others as processes: a line protocol, the adapters that speak it, and what of it enters the history."""
