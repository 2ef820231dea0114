"""Thousands of simulated runs with drawn plans, and what they found, each finding once.

| module | question |
|---|---|
| ``plans`` | which plan is number n of a campaign? |
| ``runs`` | what came of one plan, in one row? |
| ``fanout`` | how do all of them run, here or on a cluster, and go on after an interruption? |
| ``findings`` | which failures are one and the same, and what is the least plan that shows it? |
"""
