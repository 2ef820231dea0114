"""The common cases of the theorems as compiled loops (numba, where it is installed): the same answers, sooner."""
