"""Implementations: how each client and server is run and read; pure. Nothing else knows them."""
