"""Starting programs, and speaking with the sandbox in which they run."""
