//! Which bytes of a block are special: the only place with SIMD.
