"""Small programs on libraries that ship none: each runs in a trial, in its own root filesystem.

They import nothing of httpbed, and httpbed never imports them.
"""
