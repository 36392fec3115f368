SELECT TOP 3 symbol FROM trades t [ROWS 9] ORDER BY price DESC
