"""A command of the user's behind an emulated link: what ``httpbed link`` does."""
