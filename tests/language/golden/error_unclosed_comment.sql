SELECT TOP 3 x /* the rest FROM s
