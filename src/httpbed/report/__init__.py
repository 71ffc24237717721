"""Findings put into words, tables, figures and pages; portable, and no decision of its own."""
