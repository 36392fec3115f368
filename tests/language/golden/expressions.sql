SELECT TOP 1
  a + b * c - d % 2 / -e AS arithmetic, 7 div 2 AS whole, - -a AS twice, (a + b) * c AS grouped,
  a <> 1 AND NOT b IS NULL OR c <=> NULL AS logic, a != 1 AS unequal, a == 1 AS equal,
  x BETWEEN 1 AND 2 + 3 AND y NOT BETWEEN -1 AND 1 AS inside,
  s IN ('a', 'b''c') AND i NOT IN (1, -2, 3.50) AND NOT t LIKE '%\_x' AND u NOT LIKE 'a%' AS matched,
  CASE WHEN a > 1 THEN 'big' WHEN a > 0 THEN 'small' ELSE NULL END AS searched,
  CASE a WHEN 1 THEN 'one' END AS simple,
  cast(t AS double) AS d, try_cast(t AS integer) AS i, CAST(t AS LONG) AS l, cast(t as string) as s,
  power(a, 2) AS p, nvl(a, 0) AS n, if(a > 1, a, b) AS chosen, substr(t, 1, 3) AS part, pi() AS pi,
  extract(hour FROM ts) AS h, date_trunc('HOUR', ts) AS trunc, second(ts) AS sec,
  ts + interval 5 minutes - interval '1' day AS shifted, ts > timestamp '2024-01-01T12:00+02:00' AS later,
  date '2024-02-29' AS leap, vector[0] + array(1, 2.0)[1] AS element, 'tab\t "quoted" \\ end' AS text,
  1e3 AS thousand, .5 AS half, 9223372036854775807 AS huge, 'a' || b AS joined
FROM s [ROWS 1]
ORDER BY DISTANCE((x, y), (1.0, 2.0)) ASC, WEIGHTED_DISTANCE((x, y), (1, 2), (0.5, 2)),
  ATTRIBUTE_DISTANCE((x, y), (1, 2), (0.5, 2)), ATTRIBUTE_DISTANCE((x, y), (1, 2)),
  HAVERSINE(lat, lon, 37.77, -122.42) DESC, COSINE(vector, ARRAY(0.1, -0.2)) DESC
