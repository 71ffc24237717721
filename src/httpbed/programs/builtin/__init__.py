"""Small programs of httpbed's own that run inside a trial, in a recipe's root filesystem.

Not here: httpbed's package, which these programs cannot import; they repeat some tables.
Start at the recipe ``aioquic``; addons have further ones.
"""
