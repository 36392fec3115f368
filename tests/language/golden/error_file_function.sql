SELECT TOP 3 x FROM s [ROWS 10] WHERE read_text('/etc/passwd') = '' ORDER BY x
