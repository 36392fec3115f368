SELECT TOP 3 x FROM s [ROWS 10] ORDER BY extract(epoch FROM ts)
