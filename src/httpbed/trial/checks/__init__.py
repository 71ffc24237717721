"""Validity checks of an attempt, by what they check."""
