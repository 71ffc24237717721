"""Programs from apt, PyPI, npm and cargo, and the root filesystems that hold them."""
