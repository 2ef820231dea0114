"""One row a plan, seed and world that ran more than once at one commit: did it come out the same?

In the simulator ``histories`` must be 1: the same seed gives the same history, byte for byte. On real nodes histories
differ; more than one outcome there means that a plan does not decide what it asks.
"""

QUERY = """
SELECT mode, scenario, plan, seed, backend, target, defects, commit, count(*) AS runs,
       count(DISTINCT history_sha256) AS histories, count(DISTINCT outcome) AS outcomes,
       array_join(array_sort(collect_set(outcome)), ', ') AS seen,
       slice(array_sort(collect_list(run)), 1, 10) AS examples
FROM runs
GROUP BY mode, scenario, plan, seed, backend, target, defects, commit HAVING count(*) > 1
ORDER BY outcomes DESC, histories DESC, mode, scenario, seed
"""
