"""In: small programs of httpbed's own that run inside a trial, in a recipe's root filesystem.

Not in: anything of httpbed's package. These programs cannot import it, so they repeat some tables.
Start at the recipes ``aioquic`` and ``chromium-headless-shell``, and ``trial/replay_origin``.
"""
