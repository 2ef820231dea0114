"""Marts into one self-contained HTML page: inline SVG, no script needed, no network, no Spark."""

from results.dashboard.page import build

__all__ = ["build"]
