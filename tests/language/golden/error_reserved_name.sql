SELECT TOP 3 x, score FROM s [ROWS 10] ORDER BY score
