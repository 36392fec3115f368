-- Q1 to Q6 of the multi-query paper, as they are printed
SELECT      top-3
      FROM        SENSOR [Range 20 mins]
      WHERE       SENSOR.location=X
      FREQUENCY   2 mins;
SELECT      top-2
      FROM        SENSOR [Range 20 mins]
      WHERE       SENSOR.location=X
      FREQUENCY   2 mins;
SELECT      top-4
      FROM        SENSOR [Range 20 mins]
      WHERE       SENSOR.location=X
      FREQUENCY   3 mins;
SELECT      top-3
      FROM        SENSOR [Range 20 mins]
      WHERE       SENSOR.location=X
      FREQUENCY   5 mins;
SELECT      top-5
      FROM        SENSOR [Range 20 mins]
      WHERE       SENSOR.location=X
      FREQUENCY   5 mins;
SELECT      top-2
      FROM        SENSOR [Range 20 mins]
      WHERE       SENSOR.location=X
      FREQUENCY   7 mins;
