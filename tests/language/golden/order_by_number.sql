SELECT TOP 3 id, price * size AS value, x FROM s [ROWS 9] ORDER BY 2 DESC, 3, id;
SELECT TOP 3 -x AS x FROM s [ROWS 9] ORDER BY 1
