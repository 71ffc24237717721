"""What verbs do that need statistics, tables or plots; imported after the command line was read.

Not here: options and help texts (``cli``, one file per verb), so that those need no slow library.
Start at ``claims``, the shortest; the others have the same form.
"""
