//! Text and records of fixed length for Python.
