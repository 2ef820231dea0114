"""Theorems on single objects (queue, register, sets, mutex …) and the general search: columns in, violations out."""
