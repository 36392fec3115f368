WITH big AS (SELECT * FROM trades WHERE size > 10) SELECT TOP 3 symbol FROM big [ROWS 9] ORDER BY price DESC
