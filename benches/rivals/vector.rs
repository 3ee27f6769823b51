//! A vector that begins on a page, like those of the C programs, and whose pages are mapped.

use std::hint::black_box;
use std::ops::{Deref, DerefMut};

const PAGE: usize = 4096;

/// A vector that is initially zero.
#[derive(Debug)]
pub struct Vector {
    room: Vec<f32>,
    begin: usize,
    len: usize,
}

impl Vector {
    /// Creates the vector; must be called by the rank that owns it, so that its pages are near.
    pub fn new(len: usize) -> Vector {
        let mut room = vec![1.0; len + PAGE / size_of::<f32>()];
        // Keeps the allocation from being optimised into zero pages that were never touched.
        black_box(&mut room).fill(0.0);
        let begin = room.as_ptr().align_offset(PAGE);
        Vector { room, begin, len }
    }
}

impl Deref for Vector {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.room[self.begin..][..self.len]
    }
}

impl DerefMut for Vector {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.room[self.begin..][..self.len]
    }
}
