SELECT TOP 3 x FROM s [ROWS 10] ORDER BY x USING pa (epsilon = 1)
