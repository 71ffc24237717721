"""What a recording's entries become when they are replayed: pure."""
