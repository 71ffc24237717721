"""The link measured against arithmetic, and the certificate of what it was found good for."""
