"""Advice: which programs were best in the measured conditions that are nearest to a question.

Not here: words and numbers for readers (:mod:`httpbed.report.advice`). Start in answers.py.
"""
