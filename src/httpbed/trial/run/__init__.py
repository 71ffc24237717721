"""Runs one trial: the processes of its parts, from the empty network to the collected files."""
