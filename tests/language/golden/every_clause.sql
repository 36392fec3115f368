create query `all of it` as
select top(3) id, upper(name) as label
from "my ""quoted"" stream" [range 90 min slide 30 s on timestamp_seconds(epoch)]
where value is not null
partition by region, date_trunc('day', ts) as day
with probability p exclusive by rule as pt_k(0.25)
order by value desc, id
key (id, region)
lateness 5 secs late revise
frequency 2 mins
emit changes
approximate error 0.01
using pa (epsilon => 0.05, label => 'it''s', deep => false, seed => -7)
