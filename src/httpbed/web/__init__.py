"""Page loads, HAR files, and the sites that browsers load."""
