"""The deterministic simulator: many nodes, one thread, virtual time. Start at ``world.SimBackend``."""
