"""A page made self-contained: collected, loaded by a browser, mended, and listed."""
