SELECT TOP 1 `order`, "unit price" AS "a ""b""", `c``d`, größe, "from"
FROM `it's a "stream"` [ROWS 5 ON `event time`]
WHERE "it's a ""stream"""."select" = 'it''s' PARTITION BY `x.y` ORDER BY "unit price" DESC KEY (`order`)
