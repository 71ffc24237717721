"""What verbs do whose libraries take long to import; imported after the command line was read.

Not here: options and help texts (``cli``, one file per verb), so that those need no slow library.
Start at ``claims``, the shortest; the others have the same form.
"""
