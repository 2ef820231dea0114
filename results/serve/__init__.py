"""The pages of many runs from a server of this machine: no limit on how many runs, and the run that is under way.

| module | question |
|---|---|
| ``server`` | who may ask what, and how does it end? |
| ``rows`` | which runs and lost messages does this view show? |
| ``journal`` | what happened in the run under way since the page was last told? |
"""
