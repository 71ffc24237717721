"""The machine: what it is, what it can do, and the programs it is lent."""
