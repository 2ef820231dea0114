"""Two releases, commits or configurations, run by run: which is worse, by how much, and how sure is that?

| module | question |
|---|---|
| ``figures`` | what does one run say of a broker, in five numbers? |
| ``pending`` | which runs are still to be done, in which order? |
| ``pairs`` | which runs belong together, and what differs between the two of a pair? |
| ``page`` | the answer as a page |
"""

from results.compare.pairs import Comparison, compare

__all__ = ["Comparison", "compare"]
