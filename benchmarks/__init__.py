"""Speed and memory, as figures beside a yardstick measured in the same minute: ``python -m benchmarks``."""
