"""What clients do in a run: a load, with any observers and operators beside it (``table.py``)."""
