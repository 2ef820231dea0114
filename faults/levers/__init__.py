"""Levers: what a world lets a fault pull, one small protocol a family (``families.py``)."""

from faults.levers.families import FAMILIES, Levers, Nodes
from faults.levers.values import Cut, HealStep, LeverRefused, NodeState, PortClass

__all__ = ["FAMILIES", "Cut", "HealStep", "LeverRefused", "Levers", "NodeState", "Nodes", "PortClass"]
