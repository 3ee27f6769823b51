//! [`Graph`]: a communicator whose ranks name those they receive from and those they send to.

use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

use super::Comm;
use super::neighborhood::Neighborhood;
use super::rounds::Leg;
use super::values::append;
use crate::Rank;
use crate::engine::call::InCall;
use crate::error::{Called, Error, ErrorKind, Mismatch, Result, SourceLine};
use crate::sort;
use crate::transport::CommShared;
use crate::transport::communicator::call::{Call, Detail, Verb};
use crate::transport::trace::origin::Birth;

/// A communicator whose ranks are the vertices of a directed graph, made by [`Comm::graph`]. It dereferences to
/// [`Neighborhood`], which has the collectives among neighbours.
pub struct Graph {
    neighborhood: Neighborhood,
    sources: Box<[Rank]>,
    destinations: Box<[Rank]>,
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(f, "Graph")
    }
}

impl Deref for Graph {
    type Target = Neighborhood;

    fn deref(&self) -> &Neighborhood {
        &self.neighborhood
    }
}

impl Graph {
    fn new(comm: Comm, sources: Box<[Rank]>, destinations: Box<[Rank]>) -> Graph {
        Graph {
            neighborhood: neighborhood(comm, &sources, &destinations),
            sources,
            destinations,
        }
    }

    /// Makes a graph of edges, each from a source to a destination, that may be named by any rank: it has those that
    /// all ranks name together. All ranks call it together, each with any number of edges.
    ///
    /// A rank's neighbours are in the order of the ranks that name them, and of their lists. An edge that is named
    /// twice is two edges. A weight is the program's own: one that another rank has named it can get by
    /// [`values`](Comm::values)`().all_to_all`.
    ///
    /// # Errors
    ///
    /// [`Usage`](ErrorKind::Usage) if an edge begins or ends at no rank; otherwise as [`Comm::dup`].
    ///
    /// # Examples
    ///
    /// One rank knows the graph:
    ///
    /// ```
    /// use rankfold::{Graph, World};
    ///
    /// let neighbors = World::new(3).run(|comm| {
    ///     let known = [(0, 1), (0, 2), (2, 1)];
    ///     let graph = Graph::from_edges(comm, if comm.rank() == 2 { &known } else { &[] })?;
    ///     Ok((graph.sources().to_vec(), graph.destinations().to_vec()))
    /// })?;
    /// assert_eq!(neighbors, [(vec![], vec![1, 2]), (vec![0, 2], vec![]), (vec![0], vec![1])]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Dist_graph_create")]
    #[track_caller]
    pub fn from_edges(comm: &Comm, edges: &[(Rank, Rank)]) -> Result<Graph> {
        let call = comm.call(Verb::GraphFromEdges, Location::caller());
        let check = || {
            let mut edges = edges.iter();
            edges.try_for_each(|&(from, to)| {
                comm.check_rank("the source", from)?;
                comm.check_rank("the destination", to)
            })
        };
        let place = comm.collective(call, check, |inside| inside.join_edges(edges.to_vec()))?;
        let RankEdges { shared, ends } = place;
        let own = Comm::of(comm.core.clone(), shared, comm.rank());
        let [sources, destinations] = ends.map(Vec::into_boxed_slice);
        Ok(Graph::new(own, sources, destinations))
    }

    /// Returns the ranks that this one receives from, in the order in which they were named: in a graph
    /// [from edges](Self::from_edges), by the ranks in their order.
    #[doc(alias = "MPI_Dist_graph_neighbors")]
    pub fn sources(&self) -> &[Rank] {
        &self.sources
    }

    /// Returns the ranks that this one sends to, in the same order.
    pub fn destinations(&self) -> &[Rank] {
        &self.destinations
    }

    /// Returns the number of sources.
    #[doc(alias = "MPI_Dist_graph_neighbors_count")]
    pub fn in_degree(&self) -> usize {
        self.sources.len()
    }

    /// Returns the number of destinations.
    pub fn out_degree(&self) -> usize {
        self.destinations.len()
    }
}

/// # Communicators: graphs
///
/// A communicator whose ranks have neighbours.
impl Comm {
    /// Makes a communicator of the same ranks in which this one receives from `sources` and sends to `destinations`.
    /// All ranks call it together, each with its own neighbours.
    ///
    /// A rank may have no neighbours, be its own neighbour, and name a rank several times: then there are several
    /// edges.
    ///
    /// # Errors
    ///
    /// [`Usage`](ErrorKind::Usage) if a neighbour is no rank; [`Mismatch`](ErrorKind::Mismatch) on every rank, with
    /// both lines, if a rank names another one as destination more often or less often than that names it as source:
    /// this communicator stays usable then. Otherwise as [`dup`](Self::dup).
    ///
    /// # Examples
    ///
    /// Each rank gets the values of its divisors:
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(9).run(|comm| {
    ///     let me = comm.rank();
    ///     let divisors: Vec<usize> = (1..me).filter(|d| me % d == 0).collect();
    ///     let multiples: Vec<usize> = (me + 1..comm.size()).filter(|m| me > 0 && m % me == 0).collect();
    ///     let graph = comm.graph(&divisors, &multiples)?;
    ///     let mut got = vec![0; graph.in_degree()];
    ///     graph.neighbor_all_gather(&[10 * me], &mut got)?;
    ///     Ok(got)
    /// })?;
    /// assert_eq!((&got[6][..], &got[7][..], &got[8][..]), (&[10, 20, 30][..], &[10][..], &[10, 20, 40][..]));
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Dist_graph_create_adjacent")]
    #[track_caller]
    pub fn graph(&self, sources: &[Rank], destinations: &[Rank]) -> Result<Graph> {
        let site = Location::caller();
        let call = Call {
            detail: Detail::Degrees(sources.len(), destinations.len()),
            ..self.call(Verb::Graph, site)
        };
        let edges = Edges {
            sources: sources.into(),
            destinations: destinations.into(),
            line: site.into(),
        };
        let checked = self.check_edges(&edges);
        let made = self.collective(call, || checked, |inside| inside.make_graph(edges))?;
        let show = || call.to_string();
        let shared = made.map_err(|found| {
            let error = Error::new(ErrorKind::Mismatch(found));
            self.core.failed(error, &show, site, &self.shared)
        })?;
        let comm = Comm::of(self.core.clone(), shared, self.rank());
        Ok(Graph::new(comm, sources.into(), destinations.into()))
    }

    fn check_edges(&self, edges: &Edges) -> Result<()> {
        let check = |what: &str, ranks: &[Rank]| {
            let mut ranks = ranks.iter();
            ranks.try_for_each(|rank| self.check_rank(what, *rank))
        };
        check("the source", &edges.sources)?;
        check("the destination", &edges.destinations)
    }
}

/// What a rank passes.
struct Edges {
    sources: Box<[Rank]>,
    destinations: Box<[Rank]>,
    line: SourceLine,
}

impl Edges {
    /// The edges as numbers, the sources and how many they are first, and then the line.
    fn numbers(&self) -> Vec<i64> {
        let line = self.line.to_string();
        let lengths = [self.sources.len(), self.destinations.len()];
        let ends = self.sources.iter().chain(&self.destinations).copied();
        let numbers = lengths.into_iter().chain(ends).map(|number| number as i64);
        numbers.chain(line.bytes().map(i64::from)).collect()
    }

    /// The edges of a rank that has sent them as numbers.
    fn of(numbers: &[i64]) -> Option<Edges> {
        let (lengths, rest) = numbers.split_first_chunk::<2>()?;
        let (sources, rest) = rest.split_at_checked(lengths[0] as usize)?;
        let (destinations, line) = rest.split_at_checked(lengths[1] as usize)?;
        let ranks = |ends: &[i64]| ends.iter().map(|rank| *rank as Rank).collect();
        let line: Vec<u8> = line.iter().map(|byte| *byte as u8).collect();
        Some(Edges {
            sources: ranks(sources),
            destinations: ranks(destinations),
            line: SourceLine::elsewhere(str::from_utf8(&line).ok()?)?,
        })
    }
}

/// What a rank gets of a graph whose edges other ranks may have named: its sources and its destinations.
struct RankEdges {
    shared: Arc<CommShared>,
    ends: [Vec<Rank>; 2],
}

/// What all ranks get: the communicator, or why there is none.
type Made = Result<Arc<CommShared>, Arc<Mismatch>>;

impl InCall<'_> {
    /// Rank 0 collects the edges of all ranks, compares their ends, and makes the communicator.
    fn make_graph(&self, edges: Edges) -> Result<Made> {
        if self.comm.shared.spans() {
            return self.make_graph_spread(&edges);
        }
        let mut all = Some(vec![edges]);
        self.fold_up(0, &mut all, &mut append)?;
        let mut made = all.map(|all| vec![self.judge(&all); all.len()]);
        self.deal_out(0, &mut made)?;
        let mine = made.and_then(|mut made| made.pop());
        Ok(mine.unwrap_or_else(|| unreachable!("every rank gets an answer")))
    }

    /// The same where the ranks are in several processes: each compares the ends of all edges.
    fn make_graph_spread(&self, edges: &Edges) -> Result<Made> {
        let all = self.bring_together(edges.numbers())?;
        let named: Option<Vec<Edges>> = all.lists.iter().map(|list| Edges::of(list)).collect();
        let named = named.unwrap_or_else(|| unreachable!("each rank sends its edges"));
        if let Some(odd) = disagreement(&named) {
            return Ok(Err(Arc::new(self.differing_ends(&odd, &named))));
        }
        Ok(Ok(self.same_ranks_as(all.context, Birth::Graph)))
    }

    fn judge(&self, all: &[Edges]) -> Made {
        if let Some(odd) = disagreement(all) {
            return Err(Arc::new(self.differing_ends(&odd, all)));
        }
        Ok(self.same_ranks())
    }

    /// A communicator of the same ranks.
    fn same_ranks(&self) -> Arc<CommShared> {
        let shared = &self.comm.shared;
        let origin = shared.origin.child(Birth::Graph, self.call.site);
        self.comm.fabric().new_comm(shared.members.clone(), origin)
    }

    /// Rank 0 collects the edges that all ranks name, and makes the communicator; each rank gets its ends of them.
    fn join_edges(&self, edges: Vec<(Rank, Rank)>) -> Result<RankEdges> {
        if self.comm.shared.spans() {
            return self.join_edges_spread(&edges);
        }
        let mut all = Some(edges);
        self.fold_up(0, &mut all, &mut append)?;
        let mut places = all.map(|edges| self.places(&edges));
        self.deal_out(0, &mut places)?;
        let mine = places.and_then(|mut places| places.pop());
        Ok(mine.unwrap_or_else(|| unreachable!("every rank gets a place")))
    }

    /// The same where the ranks are in several processes: each finds its own ends.
    fn join_edges_spread(&self, edges: &[(Rank, Rank)]) -> Result<RankEdges> {
        let numbers = edges.iter().flat_map(|(from, to)| [*from, *to]);
        let all = self.bring_together(numbers.map(|rank| rank as i64).collect())?;
        let mut ends: [Vec<Rank>; 2] = Default::default();
        for edge in all.lists.iter().flat_map(|list| list.chunks_exact(2)) {
            let [from, to] = [edge[0], edge[1]].map(|rank| rank as Rank);
            ends[0].extend((to == self.rank()).then_some(from));
            ends[1].extend((from == self.rank()).then_some(to));
        }
        Ok(RankEdges {
            shared: self.same_ranks_as(all.context, Birth::Graph),
            ends,
        })
    }

    fn places(&self, edges: &[(Rank, Rank)]) -> Vec<RankEdges> {
        let shared = self.same_ranks();
        let place = || RankEdges {
            shared: shared.clone(),
            ends: Default::default(),
        };
        let mut places: Vec<RankEdges> = (0..self.size()).map(|_| place()).collect();
        for &(from, to) in edges {
            places[to].ends[0].push(from);
            places[from].ends[1].push(to);
        }
        places
    }

    fn differing_ends(&self, odd: &Disagreement, all: &[Edges]) -> Mismatch {
        let [from, to] = [odd.from, odd.to].map(|rank| self.comm.to_world(rank));
        let called = |rank: Rank, text: String| Called {
            rank: self.comm.to_world(rank),
            call: text,
            site: Some(all[rank].line),
        };
        Mismatch {
            calls: vec![
                called(
                    odd.from,
                    format!("graph with {} to rank {to}", edges(odd.sent)),
                ),
                called(
                    odd.to,
                    format!("graph with {} from rank {from}", edges(odd.received)),
                ),
            ],
            odd: Vec::new(),
            comm: self.comm.shared.name(),
        }
    }
}

/// A number of edges, in words.
fn edges(count: usize) -> String {
    match count {
        0 => "no edge".into(),
        1 => "1 edge".into(),
        _ => format!("{count} edges"),
    }
}

/// Two ranks that name different numbers of edges between them.
#[derive(Debug, PartialEq, Eq)]
struct Disagreement {
    from: Rank,
    to: Rank,
    sent: usize,
    received: usize,
}

/// The first pair of ranks that disagree.
fn disagreement(all: &[Edges]) -> Option<Disagreement> {
    // The end of an edge that is named: 0 by its source, 1 by its destination.
    let mut ends: Vec<[usize; 3]> = Vec::new();
    for (rank, edges) in all.iter().enumerate() {
        ends.extend(edges.destinations.iter().map(|to| [rank, *to, 0]));
        ends.extend(edges.sources.iter().map(|from| [*from, rank, 1]));
    }
    sort::by_numbers(&mut ends, |end| *end);
    let mut pairs = ends.chunk_by(|a, b| a[..2] == b[..2]);
    pairs.find_map(|ends| {
        let [from, to, _] = ends[0];
        let received = ends.iter().filter(|[.., end]| *end == 1).count();
        let sent = ends.len() - received;
        (sent != received).then_some(Disagreement {
            from,
            to,
            sent,
            received,
        })
    })
}

/// The neighbourhood of this rank. The round of an edge is the distance from its source to its destination, round the
/// end of the ranks.
fn neighborhood(comm: Comm, sources: &[Rank], destinations: &[Rank]) -> Neighborhood {
    let (me, ranks) = (comm.rank(), comm.size());
    let sends = legs(destinations, |to| (to + ranks - me) % ranks);
    let receives = legs(sources, |from| (me + ranks - from) % ranks);
    Neighborhood::of_graph(comm, sends, receives)
}

fn legs(peers: &[Rank], round: impl Fn(Rank) -> usize) -> Vec<Leg> {
    let leg = |(place, &peer): (usize, &Rank)| Leg {
        round: round(peer),
        peer,
        place,
    };
    peers.iter().enumerate().map(leg).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn all(edges: &[(&[Rank], &[Rank])]) -> Vec<Edges> {
        let of = |&(sources, destinations): &(&[Rank], &[Rank])| Edges {
            sources: sources.into(),
            destinations: destinations.into(),
            line: Location::caller().into(),
        };
        edges.iter().map(of).collect()
    }

    #[test]
    fn edges_agree_if_both_ends_name_them_equally_often_in_any_order() {
        let agreed = all(&[(&[1, 0, 1], &[0, 2]), (&[], &[0, 2, 0]), (&[1, 0], &[])]);
        assert_eq!(disagreement(&agreed), None);
        assert_eq!(disagreement(&all(&[(&[], &[])])), None);
    }

    #[test]
    fn the_first_pair_that_disagrees_is_found() {
        let odd = all(&[(&[1, 0], &[0, 2]), (&[], &[0, 2, 0]), (&[1, 0, 0], &[])]);
        let found = Disagreement {
            from: 0,
            to: 2,
            sent: 1,
            received: 2,
        };
        assert_eq!(disagreement(&odd), Some(found));
    }
}
