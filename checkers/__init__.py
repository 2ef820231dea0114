"""Checkers: a history's columns in, a verdict with its evidence out."""
