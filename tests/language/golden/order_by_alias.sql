SELECT TOP 3 price * size AS value, id FROM s [ROWS 9] ORDER BY value DESC;
SELECT TOP 3 price * size AS `Value` FROM s [ROWS 9] ORDER BY VALUE * 2 - value, 3 * ABS(value) DESC;
-- the name of the select list comes before the column, unless the stream stands before it
SELECT TOP 3 -price AS price, size AS s FROM s [ROWS 9] ORDER BY price DESC, s.price, s + s.s, id;
SELECT TOP 3 a AS b, b AS a FROM s [ROWS 9] ORDER BY a, b;
-- a column under its own name is no alias
SELECT TOP 3 Price, x AS X FROM s [ROWS 9] ORDER BY price, x;
SELECT TOP 3 a + b FROM s [ROWS 9] ORDER BY "a + b" DESC
