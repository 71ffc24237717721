"""Datasets: one row per trial, with its network, workload, programs, machine and outcomes.

Not here: files and their dictionary (:mod:`httpbed.report.dataset`). Start in table.py.
"""
