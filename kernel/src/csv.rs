//! CSV for Python.
