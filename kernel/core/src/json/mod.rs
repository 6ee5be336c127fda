//! JSON: records, validation, values.
