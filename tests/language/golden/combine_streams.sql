SELECT TOP 3 flow FROM north, South, `west end` [RANGE 1 MINUTE SLIDE 10 SECONDS ON ts]
COMBINE SUM(bytes) ACROSS router OBJECT flow VALUES BETWEEN 0 AND 1500;
SELECT TOP 3 FLOW AS id, site
FROM flows [ROWS 100 ON ts] PARTITION BY site
COMBINE MAX(bytes) ACROSS flows.router IN ('a', 'it''s', -3, 007) OBJECT flow REPEATS MIN AT MOST 1;
SELECT TOP 3 flow FROM Flows [ROWS 100]
COMBINE WEIGHTED_SUM(bytes, ('a' => 1, 3 => 0.5)) ACROSS router in (3, 'a') OBJECT flow;
SELECT TOP 3 flow FROM North, south [ROWS 100 ON ts]
COMBINE WEIGHTED_SUM(bytes, (NORTH => 1, 'South' => 2)) ACROSS router IN ('SOUTH', 'north') OBJECT flow
ORDER BY WEIGHTED_SUM(bytes, (north => 1, south => 2)) DESC;
SELECT TOP 3 upper, `certain` FROM s [ROWS 10] ORDER BY x
