//! CSV: records, fields, summaries.
