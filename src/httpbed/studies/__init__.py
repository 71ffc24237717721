"""Campaigns that httpbed designs itself, each with its own verdict."""
