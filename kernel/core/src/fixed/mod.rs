//! Columns of fixed width: characters of lines, or bytes of records of a fixed length.
//!
//! Records are found first; then each column is filled for a tile of them, so that both stay in the cache. Where all
//! bytes of a tile are ASCII, places are offsets; else the places of each record that is not are looked up ([`tile`]).

mod parse;
mod tile;

pub use parse::{Framing, Layout, Parser};
