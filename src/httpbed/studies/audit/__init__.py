"""``httpbed audit``: whether trials side by side give the numbers of trials one at a time.

Not here: what makes a single attempt invalid (``trial/checks``), page loads only (``capacity``).
Start at ``session``, then ``judgement``.
"""
