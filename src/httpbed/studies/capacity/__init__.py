"""How many page loads this machine carries side by side without disturbing what is measured."""
