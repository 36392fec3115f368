SELECT TOP 3 x FROM s [ROWS 9] JOIN r ON s.id = r.id ORDER BY x
