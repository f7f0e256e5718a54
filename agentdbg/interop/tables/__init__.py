"""
Runs and events as tables: Parquet files for other engines, and SQL over everything that is stored.

`columns` says what the two tables hold, `parquet` writes them, `export` puts them into a folder of the user's, `cache`
keeps them for the next question, `database` asks them. Nothing here is the truth: the log is.
"""
