SELECT TOP 1 key, error, values, rows, emit, late FROM top [ROWS 5 ON range]
WHERE exact = using ORDER BY frequency DESC KEY (key)
