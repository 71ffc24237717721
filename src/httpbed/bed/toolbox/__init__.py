"""Programs from apt, PyPI, npm and cargo, and the root filesystems that contain them.

Not here: which programs a recipe needs (``programs``).
Start at ``root_filesystem``, which builds root filesystems.
"""
