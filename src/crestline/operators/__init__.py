"""The parts that operators are built of.

=================  ===============================================================================
``reporting``      base class: the latest snapshots, reports in portions, configuration and state
``timing``         whether records have times, window ends as steps, what has been reported
``records``        records as parallel arrays, and the numbering of ids
``waiting``        records whose windows are not due yet, and their rank order
``ragged``         lists of records, one for each partition, in common arrays
``partitions``     arrays with one entry for each partition, and renumbering
``whole_windows``  for the yardsticks, which share nothing else: the whole window is kept
=================  ===============================================================================
"""
