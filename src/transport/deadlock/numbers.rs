//! A set of small numbers, in bits.

/// A set of small numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers(Vec<u64>);

impl Numbers {
    pub(super) fn add(&mut self, number: usize) {
        let (word, bit) = (number / 64, number % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    pub(super) fn add_all(&mut self, others: &Numbers) {
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        for (word, more) in self.0.iter_mut().zip(&others.0) {
            *word |= more;
        }
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        let word = self.0.get(number / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}
