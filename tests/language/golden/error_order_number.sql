SELECT TOP 3 id, price FROM s [ROWS 9] ORDER BY price, 3
