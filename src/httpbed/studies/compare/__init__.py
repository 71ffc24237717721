"""``httpbed compare``: turns one command line into an experiment file that the user can edit.

Not here: running it (``campaign``) and comparing its treatments (``analysis``).
Start at ``comparison``.
"""
