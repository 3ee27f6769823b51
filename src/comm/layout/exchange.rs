//! All-to-all with a layout for each peer.

use std::panic::Location;

use super::Layout;
use crate::comm::{Comm, Neighborhood};
use crate::error::{Error, Result, Site};
use crate::op::Element;

/// [`Comm::all_to_all_v`] between layouts: rank `q` gets the elements `to[q]` of this rank's `input`, and what it sends
/// to this rank goes to the places `from[q]` of `output`. Elements of `output` in no layout stay as they are.
///
/// A rank may as well call [`all_to_all_v`](Comm::all_to_all_v) with what it has packed itself: it is the same
/// collective.
///
/// # Shape
///
/// There is a layout for each rank in `to` and in `from`. What this rank passes as `to[q]` has as many elements as what
/// rank `q` passes as its `from` of this rank.
///
/// # Cost
///
/// That of [`all_to_all_v`](Comm::all_to_all_v), and one copy at each end.
///
/// # Errors
///
/// [`Usage`](crate::ErrorKind::Usage) if there are not as many layouts as ranks, or if one does not fit its slice;
/// otherwise as [`all_to_all_v`](Comm::all_to_all_v). The output is unchanged after an error.
///
/// # Examples
///
/// The transpose of a matrix, of which each rank has two rows:
///
/// ```
/// use rankfold::World;
/// use rankfold::layout::{Layout, all_to_all_w};
///
/// let transposed = World::new(2).run(|comm| {
///     let mine: Vec<usize> = (0..8).map(|i| 10 * (2 * comm.rank() + i / 4) + i % 4).collect();
///     let to = [0, 1].map(|q| Layout::subarray(&[2, 4], &[0..2, 2 * q..2 * q + 2]));
///     let from = [0, 1].map(|q| Layout::vector(2, 1, 4).repeated(2, 1).at(2 * q)); // column by column
///     let mut theirs = [0; 8];
///     all_to_all_w(comm, &mine, &to, &mut theirs, &from)?;
///     Ok(theirs)
/// })?;
/// assert_eq!(transposed, [[0, 10, 20, 30, 1, 11, 21, 31], [2, 12, 22, 32, 3, 13, 23, 33]]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
#[doc(alias = "MPI_Alltoallw")]
#[track_caller]
pub fn all_to_all_w<T: Element>(
    comm: &Comm,
    input: &[T],
    to: &[Layout],
    output: &mut [T],
    from: &[Layout],
) -> Result<()> {
    let called = ("all_to_all_w", Location::caller());
    let peers = [comm.size(); 2];
    let mut pieces = Pieces::pack((comm, called), peers, (input, to), (output, from))?;
    let Pieces { out, into, .. } = &mut pieces;
    comm.all_to_all_v(out, &counts(to), into, &counts(from))?;
    unpack(from, into, output, |_| true);
    Ok(())
}

/// [`Neighborhood::neighbor_all_to_all_v`] between layouts, as [`all_to_all_w`] is for all ranks: `to` and `from` have
/// a layout for each neighbour, in the order of its [blocks](Neighborhood#blocks).
///
/// # Errors
///
/// [`Usage`](crate::ErrorKind::Usage) if there are not as many layouts as neighbours, or if one does not fit its slice;
/// otherwise as [`neighbor_all_to_all_v`](Neighborhood::neighbor_all_to_all_v).
///
/// # Examples
///
/// Each rank of a ring has two columns of cells between two columns for what its neighbours have:
///
/// ```
/// use rankfold::layout::{Layout, neighbor_all_to_all_w};
/// use rankfold::{Cartesian, World};
///
/// let rows = World::new(3).run(|comm| {
///     let ring = Cartesian::new(comm, &[3], &[true])?;
///     let me = 10 * ring.rank();
///     let mut cells = [0, me + 1, me + 2, 0, 0, me + 3, me + 4, 0];
///     let column = |x| Layout::vector(2, 1, 4).at(x);
///     let before = cells;
///     neighbor_all_to_all_w(&ring, &before, &[column(1), column(2)], &mut cells, &[column(0), column(3)])?;
///     Ok(cells)
/// })?;
/// assert_eq!(rows[1], [2, 11, 12, 21, 4, 13, 14, 23]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
#[doc(alias = "MPI_Neighbor_alltoallw")]
#[track_caller]
pub fn neighbor_all_to_all_w<T: Element>(
    neighborhood: &Neighborhood,
    input: &[T],
    to: &[Layout],
    output: &mut [T],
    from: &[Layout],
) -> Result<()> {
    let called = ("neighbor_all_to_all_w", Location::caller());
    let peers = neighborhood.pieces();
    let mut pieces = Pieces::pack((neighborhood, called), peers, (input, to), (output, from))?;
    let Pieces { out, into, .. } = &mut pieces;
    neighborhood.neighbor_all_to_all_v(out, &counts(to), into, &counts(from))?;
    let coming = neighborhood.coming();
    unpack(from, into, output, |piece| coming[piece]);
    Ok(())
}

/// What is exchanged, packed.
struct Pieces<T> {
    out: Vec<T>,
    /// Room for what comes.
    into: Vec<T>,
}

impl<T: Element> Pieces<T> {
    fn pack(
        (comm, called): (&Comm, (&str, Site)),
        peers: [usize; 2],
        (input, to): (&[T], &[Layout]),
        (output, from): (&[T], &[Layout]),
    ) -> Result<Pieces<T>> {
        let packed = || {
            let lengths = [
                check("input", to, peers[0], input.len())?,
                check("output", from, peers[1], output.len())?,
            ];
            let (mut out, mut into) = (room(lengths[0])?, room(lengths[1])?);
            for layout in to {
                layout.each_run(0, &mut |run| out.extend_from_slice(&input[run]));
            }
            // Any elements will do: those that come replace them.
            if let Some(one) = output.first() {
                into.resize(lengths[1], *one);
            }
            Ok(Pieces { out, into })
        };
        let (verb, site) = called;
        packed().or_else(|error| comm.op(site, &|| verb.to_owned(), || Err(error)))
    }
}

/// An empty vector with room for as many elements.
fn room<T>(elements: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    match room.try_reserve_exact(elements) {
        Ok(()) => Ok(room),
        Err(_) => Err(Error::usage(format!(
            "there is no memory for the {elements} elements of the layouts"
        ))),
    }
}

/// Checks that there is a layout for each peer, and that all fit a slice of `given` elements. Returns how many they have.
fn check(which: &str, layouts: &[Layout], peers: usize, given: usize) -> Result<usize> {
    if layouts.len() != peers {
        let layouts = layouts.len();
        return Err(Error::usage(format!(
            "there must be {peers} layouts of the {which}, and not {layouts}"
        )));
    }
    let sum = layouts
        .iter()
        .try_fold(0_usize, |sum, layout| sum.checked_add(layout.len()));
    let sum =
        sum.ok_or_else(|| Error::usage("the layouts have more elements than can be counted"))?;
    match layouts.iter().position(|layout| layout.extent() > given) {
        None => Ok(sum),
        Some(peer) => Err(Error::usage(format!(
            "layout {peer} of the {which} reaches up to element {}, and it has {given} elements",
            layouts[peer].extent()
        ))),
    }
}

fn counts(layouts: &[Layout]) -> Vec<usize> {
    layouts.iter().map(Layout::len).collect()
}

/// Unpacks the pieces that have come. One that has not leaves its places to the others.
fn unpack<T: Element>(
    layouts: &[Layout],
    mut packed: &[T],
    output: &mut [T],
    has_come: impl Fn(usize) -> bool,
) {
    for (number, layout) in layouts.iter().enumerate() {
        let (piece, rest) = packed.split_at(layout.len());
        if has_come(number) {
            layout.unpack(piece, output);
        }
        packed = rest;
    }
}
