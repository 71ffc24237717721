"""A trial in virtual time: the attempt runs in a guest of its own, and is judged outside.

Not here: booting a guest (``host/guest``).
Start at ``outside``.
"""
