//! What crosses to Python: batches without copies, positions as bytes, faults as tuples.
