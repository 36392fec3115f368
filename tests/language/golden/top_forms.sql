SELECT TOP 3 x FROM s [ROWS 9] ORDER BY x; SELECT TOP-3 x FROM s [ROWS 9] ORDER BY x;
select top-3 x from s [rows 9] order by x; SELECT top(3) x FROM s [ROWS 9] ORDER BY x;
SELECT TOP 3 -x AS minus FROM s [ROWS 9] ORDER BY x
