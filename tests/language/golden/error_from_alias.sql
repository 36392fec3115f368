SELECT TOP 3 t.symbol FROM trades AS t [ROWS 9] ORDER BY price DESC
