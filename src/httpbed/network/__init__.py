"""From the description of a network to the commands and the emulator that make it; pure."""
