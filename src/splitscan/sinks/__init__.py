"""Where rows go: a plain folder of Parquet, or a table, behind one protocol."""
