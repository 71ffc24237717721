"""What httpbed keeps on disk: campaigns, tables made from them, packet logs, records of tests.

Not here: running trials (``campaign``) and what the numbers mean (``results``).
Start at ``campaign`` for the folder, ``query`` to read all of it.
"""
