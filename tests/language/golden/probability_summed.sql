SELECT TOP 3 sensor FROM s [ROWS 9] WITH PROBABILITY p BY SUM OF PROBABILITY ORDER BY speed DESC
;
select top 3 sensor from s [rows 9] by sum of probability order by speed desc
with probability p / 100 exclusive by rule as global_topk
;
SELECT TOP 3 FROM s [ROWS 9] PARTITION BY sensor BY SUM OF PROBABILITY
ORDER BY speed DESC WITH PROBABILITY p AS U_TOPK
