"""Sites: pages with all that they need, as folders that any server can serve."""
