"""Programs that run inside of a part, in a root filesystem without httpbed."""
