"""The campaign on disk: directories are the truth, Parquet is a cache."""
