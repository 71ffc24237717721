"""HTTP archives (HAR 1.2): read without trust, written by the specification."""
