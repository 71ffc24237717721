"""Page loads, read and reckoned with: from what a browser told, or from a HAR file."""
