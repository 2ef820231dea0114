"""What the units exercise, and what none of them does: requests, answers, notable branches, faults by role.

    points.py    what there is to exercise, read from the sources
    watch.py     what one run exercised
    record.py    all units, and what they came to

The page is ``docs/coverage.md`` (``scripts/coverage_page.py``).
"""
