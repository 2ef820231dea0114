"""The findings of ``docs/findings.md`` as data: what shows each, and whether a release still does it.

findings.yaml    the table: what is run or asked, and by what it is decided
table.py         reads it                          seen.py         there, gone, changed, undecided, does not apply
scenarios.py     decides from a judged run         histories.py    decides from what happened in one
brokers.py, frames.py, pairs.py                    ask a broker or a pair directly
asking.py        all of that for one target        report.py       the table, JSON, JUnit
"""
