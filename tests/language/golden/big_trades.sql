-- the ten largest trades of the last ten minutes, every minute
CREATE QUERY big_trades AS
SELECT TOP 10 symbol, price * volume AS turnover
FROM trades [RANGE 10 minutes SLIDE 1 minute ON ts]
WHERE venue = 'XETRA' /* one venue */ AND volume > 0
ORDER BY price * volume DESC;
