SELECT TOP 3 transform(v, y -> y + 1) FROM s [ROWS 10] ORDER BY x
