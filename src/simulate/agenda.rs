//! The ranks that act next: a radix heap of ranks, keyed by their next active step.
//!
//! Steps only rise. A rank is in the bucket of the highest bit in which its step differs from the last step popped:
//! near steps are in low buckets, and no rank is moved more often than a step has bits.

/// Ranks waiting for their next step, each at most once.
pub(super) struct Agenda {
    last: usize,
    buckets: Vec<Vec<(usize, u32)>>,
}

impl Agenda {
    pub(super) fn new(last: usize) -> Agenda {
        Agenda {
            last,
            buckets: vec![Vec::new(); usize::BITS as usize + 1],
        }
    }

    /// Adds a rank. Its step must not precede the last step popped.
    pub(super) fn push(&mut self, step: usize, rank: u32) {
        let bucket = usize::BITS - (step ^ self.last).leading_zeros();
        self.buckets[bucket as usize].push((step, rank));
    }

    /// Removes the least step and stores all its ranks in `ranks`.
    pub(super) fn pop(&mut self, ranks: &mut Vec<u32>) -> Option<usize> {
        let first = self.buckets.iter().position(|bucket| !bucket.is_empty())?;
        let mut soon = std::mem::take(&mut self.buckets[first]);
        self.last = soon.iter().map(|&(step, _)| step).min()?;
        ranks.clear();
        for (step, rank) in soon.drain(..) {
            if step == self.last {
                ranks.push(rank);
            } else {
                self.push(step, rank);
            }
        }
        self.keep(first, soon);
        Some(self.last)
    }

    /// Returns the allocation of an emptied bucket to the bucket, if it is small.
    fn keep(&mut self, bucket: usize, room: Vec<(usize, u32)>) {
        const LITTLE: usize = 1 << 12;
        if room.capacity() <= LITTLE && self.buckets[bucket].is_empty() {
            self.buckets[bucket] = room;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Agenda;

    #[test]
    fn steps_come_in_order_with_all_their_ranks() {
        let mut agenda = Agenda::new(0);
        let steps = |rank: usize| (0..20).map(move |i| i * (rank % 7 + 1) + rank % 3);
        let mut next: Vec<_> = (0..100).map(steps).collect();
        let mut want: Vec<_> = (0..100)
            .flat_map(|rank| steps(rank).map(move |step| (step, rank as u32)))
            .collect();
        for (rank, steps) in next.iter_mut().enumerate() {
            agenda.push(steps.next().unwrap(), rank as u32);
        }
        let (mut got, mut ranks) = (Vec::new(), Vec::new());
        while let Some(step) = agenda.pop(&mut ranks) {
            got.extend(ranks.iter().map(|&rank| (step, rank)));
            for &rank in &ranks {
                if let Some(step) = next[rank as usize].next() {
                    agenda.push(step, rank);
                }
            }
        }
        assert!(got.is_sorted_by_key(|&(step, _)| step));
        got.sort_unstable();
        want.sort_unstable();
        assert_eq!(got, want);
    }
}
