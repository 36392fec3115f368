SELECT TOP 3 *, x * y AS v, * FROM s [ROWS 9] ORDER BY x
