//! The machine as plain data.
