"""How many small changes of the reference would the harness notice? Its own room, with a README.

| module | question |
|---|---|
| ``operators`` | which small changes does a source have, and what is it with one of them? |
| ``population`` | which mutants are there, and which are drawn? |
| ``units`` | which scenarios and cells of the matrix may judge them? |
| ``loading`` | how does a changed module come into a process, and never into the tree? |
| ``worker`` | runs units in a process of its own, with one change or with none |
| ``workers`` | begins such processes, bounds them, reads what they say |
| ``probe`` | which unit executes which lines, and how does it end without a change? |
| ``choice`` | which units judge a mutant, in which order? |
| ``result`` | what do the runs of one mutant come to? |
| ``records`` | results on the disk: appended, read again, valid for one source |
| ``reviewed`` | what did people find out about mutants that survived? |
| ``measure`` | all of it, mutant by mutant, resumable |
| ``score`` | shares by room, operator and check |
"""
