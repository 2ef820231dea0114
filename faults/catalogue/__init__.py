"""The verbs of a fault plan, one file a family."""
