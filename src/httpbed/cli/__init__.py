"""The command line: one module per verb, each with its ``command``."""
