"""One run as one page: the verdict, what happened, why it is so, and how to see it again.

Question: what does somebody need who opens this a week later, without the tool, without a network?

| module | question |
|---|---|
| ``page`` | what is on the page, in which order? |
| ``columns`` | how do a million operations get into a browser? |
| ``nodes`` | when was which node up, and how far was each copy of the log? |
| ``elections`` | who led which group when, in which term? |
| ``losses`` | which acknowledged messages were lost, by queue? |
| ``counters`` | what do the numbers of a check mean? |
| ``foreign`` | the same for a history that another tool wrote |

Limits. It shows, it does not judge: everything on it is in ``verdict.json``, ``run.json``, the scenario or the history.
"""

from harness.report.page import render, write_report

__all__ = ["render", "write_report"]
