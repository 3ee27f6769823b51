//! A buffer of symbols, stored as runs of equal ones: the cost of reads and writes does not depend on lengths.

use std::collections::BTreeMap;
use std::ops::Range;

use super::symbols::Symbol;
use crate::schedule::Region;

/// A run of elements with the same symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) run: Range<usize>,
    pub(super) symbol: Symbol,
}

/// A buffer; elements outside all pieces have never been written.
#[derive(Default)]
pub(super) struct SymbolicBuffer {
    /// By start: the end of the piece, and its symbol. Pieces do not overlap.
    pieces: BTreeMap<usize, (usize, Symbol)>,
}

impl SymbolicBuffer {
    /// The elements of a region, numbered from 0, or the first position that was never written.
    pub(super) fn read(&self, region: Region) -> Result<Vec<Piece>, usize> {
        let (mut pieces, mut at) = (Vec::new(), 0);
        for run in region.runs() {
            self.read_run(&run, at, &mut pieces)?;
            at += run.len();
        }
        Ok(pieces)
    }

    fn read_run(&self, run: &Range<usize>, at: usize, into: &mut Vec<Piece>) -> Result<(), usize> {
        let before = self.pieces.range(..=run.start).next_back();
        let first = before.map_or(run.start, |(&start, _)| start);
        let mut next = run.start;
        for (&start, &(end, symbol)) in self.pieces.range(first..run.end) {
            if start > next {
                return Err(next);
            }
            let end = end.min(run.end);
            if end > next {
                into.push(Piece {
                    run: next - run.start + at..end - run.start + at,
                    symbol: symbol.moved(run.start, at),
                });
                next = end;
            }
        }
        if next < run.end { Err(next) } else { Ok(()) }
    }

    /// Writes elements, numbered from 0, to a region of the same extent.
    pub(super) fn write(&mut self, region: Region, pieces: &[Piece]) {
        let mut at = 0;
        for run in region.runs() {
            self.split(run.start);
            self.split(run.end);
            self.pieces
                .extract_if(run.clone(), |_, _| true)
                .for_each(drop);
            let end = at + run.len();
            let first = pieces.partition_point(|piece| piece.run.end <= at);
            for piece in pieces[first..]
                .iter()
                .take_while(|piece| piece.run.start < end)
            {
                let (start, stop) = (piece.run.start.max(at), piece.run.end.min(end));
                let place = start - at + run.start..stop - at + run.start;
                self.insert(place, piece.symbol.moved(at, run.start));
            }
            at = end;
        }
    }

    /// Splits the piece that extends across `at`, if there is one.
    fn split(&mut self, at: usize) {
        if let Some((_, (end, symbol))) = self.pieces.range_mut(..at).next_back()
            && *end > at
        {
            let rest = (*end, *symbol);
            *end = at;
            self.pieces.insert(at, rest);
        }
    }

    /// Inserts a piece where there is none, merged with its neighbours where their symbols match.
    fn insert(&mut self, run: Range<usize>, symbol: Symbol) {
        let (mut start, mut end) = (run.start, run.end);
        if let Some((&before, &(stop, other))) = self.pieces.range(..start).next_back()
            && stop == start
            && other == symbol
        {
            start = before;
        }
        if let Some(&(stop, other)) = self.pieces.get(&end)
            && other == symbol
        {
            self.pieces.remove(&end);
            end = stop;
        }
        self.pieces.insert(start, (end, symbol));
    }
}
