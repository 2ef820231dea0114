"""Levers: what a world lets a fault pull, one small protocol a family (``families.py``)."""

from faults.levers.families import FAMILIES, Levers, Nodes
from faults.levers.values import HealStep, LeverRefused, LinkSet, NodeState, PortClass

__all__ = ["FAMILIES", "HealStep", "LeverRefused", "Levers", "LinkSet", "NodeState", "Nodes", "PortClass"]
