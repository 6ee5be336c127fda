//! JSON for Python.
