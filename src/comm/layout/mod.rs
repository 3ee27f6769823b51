//! Layouts: which elements of a slice belong to a message (MPI's derived datatypes).
//!
//! A message has its elements one after another. A [`Layout`] says where these are in a slice: a column or a block of a
//! matrix, every third element, any places. [`pack`](Layout::pack) copies them out of a slice, in the order of the
//! layout, and [`unpack`](Layout::unpack) copies them into one. Every call that takes a slice takes what was packed,
//! and what was received is unpacked: one line at either end.
//!
//! ```
//! use rankfold::World;
//! use rankfold::layout::Layout;
//!
//! // Rank 0 sends the second column of its matrix of 3 x 4 elements, and rank 1 makes it the first column of its own.
//! let matrices = World::new(2).run(|comm| {
//!     let mut matrix: Vec<usize> = (0..12).map(|i| 100 * comm.rank() + i).collect();
//!     let column = Layout::vector(3, 1, 4);
//!     match comm.rank() {
//!         0 => comm.send(1, 0, &column.at(1).pack(&matrix))?,
//!         _ => column.unpack(&comm.recv(0, 0)?.0, &mut matrix),
//!     }
//!     Ok(matrix)
//! })?;
//! assert_eq!(matrices[1], [1, 101, 102, 103, 5, 105, 106, 107, 9, 109, 110, 111]);
//! # Ok::<(), rankfold::WorldError>(())
//! ```
//!
//! With a buffer of its own instead of a new vector: `comm.recv_into(0, 0, &mut buf)?; column.unpack(&buf, &mut
//! matrix);`
//!
//! # MPI's calls
//!
//! A type of elements needs no description here: every `Copy + Send + Sync + 'static` type is one
//! ([`Element`](crate::op::Element)), and [`send_value`](crate::Comm::send_value) moves any other. A layout counts in
//! elements, never in bytes.
//!
//! | MPI | here |
//! |---|---|
//! | `MPI_Type_contiguous` | [`Layout::contiguous`]; of another type: [`Layout::repeated`] with that type's extent in MPI as stride: see [`Layout::extent`] |
//! | `MPI_Type_vector`, `_create_hvector` | [`Layout::vector`]; of another type: [`Layout::repeated`] |
//! | `MPI_Type_indexed`, `_create_indexed_block`, `_create_hindexed` | [`Layout::indexed`]; of other types: [`Layout::placed`] |
//! | `MPI_Type_create_subarray` | [`Layout::subarray`] |
//! | `MPI_Type_create_darray` | a subarray, or a vector for cyclic distributions |
//! | `MPI_Type_create_struct` | a Rust struct (`#[derive(Clone, Copy)]`) or a tuple; parts at several places of one slice: [`Layout::placed`] |
//! | `MPI_Type_create_resized` | the stride of [`Layout::repeated`] |
//! | `MPI_Type_size` | [`Layout::len`] |
//! | `MPI_Type_get_extent`, `_get_true_extent` | none; the true upper bound, counted from 0, is [`Layout::extent`] |
//! | `MPI_Type_commit`, `_dup`, `_free` | not needed; clone, drop |
//! | `MPI_Pack`, `MPI_Unpack` | [`Layout::pack`], [`Layout::unpack`]; of several types in one message: send a tuple or a struct |
//! | `MPI_Alltoallw`, `MPI_Neighbor_alltoallw` | [`all_to_all_w`], [`neighbor_all_to_all_w`] |
//! | `MPI_Ialltoallw`, `MPI_Ineighbor_alltoallw` | pack, the started form with counts, unpack after the wait |

mod exchange;

use std::ops::Range;
use std::sync::Arc;

pub use exchange::{all_to_all_w, neighbor_all_to_all_w};

/// Which elements of a slice belong to a message, and in which order.
///
/// It is made of places only and fits slices of any type. Cloning it is cheap. A layout may name an element more than
/// once: it is packed as often, and unpacking leaves what comes last.
///
/// # Examples
///
/// ```
/// use rankfold::layout::Layout;
///
/// let letters = *b"abcdefghijkl"; // three rows of four
/// let packed = |layout: Layout| String::from_utf8(layout.pack(&letters)).unwrap();
///
/// assert_eq!(packed(Layout::contiguous(3)), "abc");
/// assert_eq!(packed(Layout::vector(3, 2, 4)), "abefij");
/// assert_eq!(packed(Layout::indexed(&[(7, 2), (0, 1)])), "hia");
/// assert_eq!(packed(Layout::subarray(&[3, 4], &[1..3, 2..4])), "ghkl");
/// // All columns, one after another: the transpose.
/// assert_eq!(packed(Layout::vector(3, 1, 4).repeated(4, 1)), "aeibfjcgkdhl");
/// ```
#[derive(Clone, Debug)]
pub struct Layout {
    len: usize,
    extent: usize,
    typemap: Typemap,
}

#[derive(Clone, Debug)]
enum Typemap {
    /// The first elements.
    Run,
    /// A layout again and again.
    Repeated {
        of: Arc<Layout>,
        count: usize,
        stride: usize,
    },
    /// Layouts, each from its own element on.
    Placed(Arc<[(usize, Layout)]>),
}

/// What follows from arguments that overflow.
#[track_caller]
fn counted(number: Option<usize>) -> usize {
    number.expect("the layout reaches further than can be counted")
}

impl Layout {
    /// The first `count` elements.
    #[doc(alias = "MPI_Type_contiguous")]
    pub fn contiguous(count: usize) -> Layout {
        Layout {
            len: count,
            extent: count,
            typemap: Typemap::Run,
        }
    }

    /// `count` blocks of `block` elements, each of which begins `stride` elements after the one before.
    ///
    /// # Panics
    ///
    /// Panics if the layout reaches further than can be counted.
    #[doc(alias = "MPI_Type_vector")]
    #[track_caller]
    pub fn vector(count: usize, block: usize, stride: usize) -> Layout {
        Layout::contiguous(block).repeated(count, stride)
    }

    /// Blocks of any lengths at any places: `(at, count)` are `count` elements from element `at` on.
    ///
    /// # Panics
    ///
    /// As [`vector`](Self::vector).
    #[doc(alias = "MPI_Type_indexed")]
    #[track_caller]
    pub fn indexed(blocks: &[(usize, usize)]) -> Layout {
        let placed: Vec<(usize, Layout)> = blocks
            .iter()
            .map(|&(at, count)| (at, Layout::contiguous(count)))
            .collect();
        Layout::placed(placed)
    }

    /// A part of an array of `sizes.len()` dimensions, whose last index runs fastest: in each dimension the indices in
    /// `part`.
    ///
    /// # Panics
    ///
    /// Panics if there are not as many ranges as dimensions, or if one is not inside its dimension; otherwise as
    /// [`vector`](Self::vector).
    ///
    /// # Examples
    ///
    /// The face of a cube that is sent to the neighbour above in the second dimension:
    ///
    /// ```
    /// use rankfold::layout::Layout;
    ///
    /// let face = Layout::subarray(&[4, 4, 4], &[1..3, 2..3, 1..3]);
    /// let cube: Vec<usize> = (0..64).collect();
    /// assert_eq!(face.pack(&cube), [25, 26, 41, 42]);
    /// ```
    #[doc(alias = "MPI_Type_create_subarray")]
    #[track_caller]
    pub fn subarray(sizes: &[usize], part: &[Range<usize>]) -> Layout {
        let (dims, ranges) = (sizes.len(), part.len());
        assert!(
            dims == ranges,
            "an array of {dims} dimensions and {ranges} ranges: there must be one for each"
        );
        let (mut layout, mut apart) = (Layout::contiguous(1), 1_usize);
        let dimensions = sizes.iter().zip(part).enumerate();
        for (dim, (&size, range)) in dimensions.rev() {
            assert!(
                range.start <= range.end && range.end <= size,
                "the indices {range:?} of dimension {dim} are not inside 0..{size}"
            );
            let at = counted(apart.checked_mul(range.start));
            layout = layout.repeated(range.len(), apart).at(at);
            apart = counted(apart.checked_mul(size));
        }
        layout
    }

    /// This layout `count` times, each `stride` elements after the one before.
    ///
    /// # Panics
    ///
    /// As [`vector`](Self::vector).
    #[doc(alias = "MPI_Type_create_hvector")]
    #[doc(alias = "MPI_Type_create_resized")]
    #[track_caller]
    pub fn repeated(&self, count: usize, stride: usize) -> Layout {
        if matches!(self.typemap, Typemap::Run) && (stride == self.len || count == 1) {
            return Layout::contiguous(counted(count.checked_mul(self.len)));
        }
        let len = counted(count.checked_mul(self.len));
        let last = counted(count.saturating_sub(1).checked_mul(stride));
        Layout {
            len,
            extent: reach(len, last, self.extent),
            typemap: Typemap::Repeated {
                of: Arc::new(self.clone()),
                count,
                stride,
            },
        }
    }

    /// This layout from element `at` of a slice on.
    ///
    /// # Panics
    ///
    /// As [`vector`](Self::vector).
    #[track_caller]
    pub fn at(&self, at: usize) -> Layout {
        match at {
            0 => self.clone(),
            _ => Layout::placed([(at, self.clone())]),
        }
    }

    /// Several layouts, one after another in the message, each from its own element of the slice on.
    ///
    /// # Panics
    ///
    /// As [`vector`](Self::vector).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::layout::Layout;
    ///
    /// let ends = Layout::placed([(0, Layout::contiguous(1)), (4, Layout::vector(2, 1, 3))]);
    /// assert_eq!(ends.pack(&[10, 11, 12, 13, 14, 15, 16, 17]), [10, 14, 17]);
    /// ```
    #[doc(alias = "MPI_Type_create_hindexed")]
    #[doc(alias = "MPI_Type_create_struct")]
    #[track_caller]
    pub fn placed(parts: impl Into<Arc<[(usize, Layout)]>>) -> Layout {
        let parts = parts.into();
        let (mut len, mut extent) = (0_usize, 0);
        for (at, part) in &*parts {
            len = counted(len.checked_add(part.len));
            extent = extent.max(reach(part.len, *at, part.extent));
        }
        Layout {
            len,
            extent,
            typemap: Typemap::Placed(parts),
        }
    }

    /// Returns the number of elements in the message.
    #[doc(alias = "MPI_Type_size")]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns how many elements a slice must have: one more than the last place that the layout names.
    ///
    /// In MPI's words it is the *true upper bound*, in elements, and not the extent. As the stride of
    /// [`repeated`](Self::repeated), where MPI takes the extent, they are the same for [`contiguous`](Self::contiguous)
    /// and [`vector`](Self::vector). The extent of MPI's subarray is the whole array; that of displaced blocks goes from
    /// the first place, not from 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::layout::Layout;
    ///
    /// let quarter = Layout::subarray(&[4, 4], &[0..2, 0..2]);
    /// assert_eq!(quarter.extent(), 6);
    /// // The same quarter of two planes, as two of MPI's subarrays.
    /// let both = quarter.repeated(2, 4 * 4);
    /// let places: Vec<usize> = (0..32).collect();
    /// assert_eq!(both.pack(&places), [0, 1, 4, 5, 16, 17, 20, 21]);
    /// ```
    #[doc(alias = "MPI_Type_get_true_extent")]
    pub fn extent(&self) -> usize {
        self.extent
    }

    /// Copies the elements of the layout out of a slice.
    ///
    /// # Panics
    ///
    /// Panics if the slice has fewer elements than the [extent](Self::extent).
    #[doc(alias = "MPI_Pack")]
    #[track_caller]
    pub fn pack<T: Copy>(&self, from: &[T]) -> Vec<T> {
        self.check(from.len());
        let mut packed = Vec::with_capacity(self.len);
        self.each_run(0, &mut |run| packed.extend_from_slice(&from[run]));
        packed
    }

    /// [`pack`](Self::pack) into a buffer.
    ///
    /// # Panics
    ///
    /// As [`pack`](Self::pack), and if the buffer has not [as many](Self::len) elements as the layout.
    #[track_caller]
    pub fn pack_into<T: Copy>(&self, from: &[T], into: &mut [T]) {
        self.check(from.len());
        self.check_packed(into.len());
        let mut begin = 0;
        self.each_run(0, &mut |run| {
            let end = begin + run.len();
            copy_run(&from[run], &mut into[begin..end]);
            begin = end;
        });
    }

    /// Copies what was packed to its places in a slice, and leaves the other elements as they are.
    ///
    /// # Panics
    ///
    /// Panics if there are not [as many](Self::len) elements as the layout has, or if the slice has fewer than the
    /// [extent](Self::extent).
    #[doc(alias = "MPI_Unpack")]
    #[track_caller]
    pub fn unpack<T: Copy>(&self, packed: &[T], into: &mut [T]) {
        self.check(into.len());
        self.check_packed(packed.len());
        let mut begin = 0;
        self.each_run(0, &mut |run| {
            let end = begin + run.len();
            copy_run(&packed[begin..end], &mut into[run]);
            begin = end;
        });
    }

    #[track_caller]
    fn check(&self, given: usize) {
        assert!(
            self.extent <= given,
            "the layout reaches up to element {} of a slice that has {given}",
            self.extent
        );
    }

    #[track_caller]
    fn check_packed(&self, given: usize) {
        assert!(
            self.len == given,
            "the layout has {} elements, and {given} are packed",
            self.len
        );
    }

    /// Shows the places of the layout, in their order, if its first element is element `from`.
    fn each_run<F: FnMut(Range<usize>)>(&self, from: usize, show: &mut F) {
        // An empty layout may have places that cannot be counted.
        if self.len == 0 {
            return;
        }
        match &self.typemap {
            Typemap::Run => show(from..from + self.len),
            Typemap::Repeated { of, count, stride } => {
                (0..*count).for_each(|turn| of.each_run(from + turn * stride, show));
            }
            Typemap::Placed(parts) => {
                for (at, part) in parts.iter().filter(|(_, part)| part.len > 0) {
                    part.each_run(from + at, show);
                }
            }
        }
    }
}

/// Copies as many elements as there are. One element, as in a column, is not worth a call.
#[inline]
fn copy_run<T: Copy>(from: &[T], into: &mut [T]) {
    match (from, into) {
        ([from], [into]) => *into = *from,
        (from, into) => into.copy_from_slice(from),
    }
}

/// The extent of `len` elements, the last of which are those of a layout of this extent from element `at` on.
#[track_caller]
fn reach(len: usize, at: usize, extent: usize) -> usize {
    match len {
        0 => 0,
        _ => counted(at.checked_add(extent)),
    }
}
