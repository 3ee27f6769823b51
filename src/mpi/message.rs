//! The memory of a message that has arrived, aligned for whatever elements follow its first words.
#![allow(unsafe_code)]

/// Bytes at an address that is a multiple of 16.
pub(crate) struct Message {
    words: Vec<u128>,
    length: usize,
}

const WORD: usize = size_of::<u128>();

impl Message {
    /// Room for `length` bytes, which are zero.
    pub(super) fn zeros(length: usize) -> Message {
        let words = vec![0; length.div_ceil(WORD)];
        Message { words, length }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: there are at least `length` bytes in the words, all of them are initialized, and a byte needs no
        // alignment.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.length) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and any bytes are words.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.length) }
    }

    /// The message, and another one behind it.
    pub(super) fn with(self, more: &Message) -> Message {
        let mut whole = Message::zeros(self.length + more.length);
        let (first, second) = whole.bytes_mut().split_at_mut(self.length);
        first.copy_from_slice(self.bytes());
        second.copy_from_slice(more.bytes());
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_grows_by_another() {
        let message = |bytes: &[u8]| {
            let mut message = Message::zeros(bytes.len());
            message.bytes_mut().copy_from_slice(bytes);
            message
        };
        let long: Vec<u8> = (0..40).collect();
        for cut in [0, 1, 16, 17, 40] {
            let whole = message(&long[..cut]).with(&message(&long[cut..]));
            assert_eq!(whole.bytes(), long);
            assert_eq!(whole.bytes().as_ptr() as usize % WORD, 0);
        }
    }
}
