"""Composition: a scenario runs against a target on a backend and becomes one judged history."""
