"""Sites whose files httpbed generates from a seed: synthetic pages, Ranjan's, Zhang and Song's.

Not here: sites of other people's files (``corpus``), HAR files (``replay``).
Start at ``files`` (documents, styles and scripts of a given length, fonts), then ``images``.
"""
