"""Executors take the trials of a design and give back finished directories."""
