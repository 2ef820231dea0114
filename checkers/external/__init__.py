"""Histories from other tools: Jepsen's EDN and text logs, JSON, S2's streams; read, and judged against a model."""
