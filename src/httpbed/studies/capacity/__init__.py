"""``httpbed capacity``: how many page loads run side by side without disturbing each other.

Not here: the record of the result (``store/capacity_records``).
Start at ``session``, then ``judgement``.
"""
