//! The origin of a communicator: its name in reports.
//!
//! A name is formatted when a report asks for it. A communicator keeps only the call that made it, the source line of
//! that call on the rank that made it, and its parent's origin.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::error::Site;
use crate::sort;
use crate::transport::memory::head::communicator;

/// The call that made a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Birth {
    /// The world's own communicator.
    World,
    Dup,
    /// The ranks of this colour.
    Split(u32),
    /// The ranks in one part of the machine, with the kind and number of the part.
    SplitBy(&'static str, u32),
    /// A grid of these dimensions.
    Cartesian(Box<[usize]>),
    /// Ranks that have named their neighbours.
    Graph,
    Shrink,
    Subset,
    Window,
}

/// The origin of a communicator.
#[derive(Debug)]
pub(crate) struct Origin {
    birth: Birth,
    /// The parent's origin; `None` beyond [`DEPTH`] generations.
    parent: Option<Arc<Origin>>,
    site: Option<Site>,
    /// Number of generations since the world.
    depth: usize,
}

/// Number of generations that a name shows, so that a chain of communicators is not kept for its names alone.
const DEPTH: usize = 4;

impl Origin {
    pub(crate) fn world() -> Arc<Origin> {
        Arc::new(Origin {
            birth: Birth::World,
            parent: None,
            site: None,
            depth: 0,
        })
    }

    /// The origin of a communicator made from this one by the call `birth` at `site`.
    pub(crate) fn child(self: &Arc<Origin>, birth: Birth, site: Site) -> Arc<Origin> {
        let depth = self.depth + 1;
        Arc::new(Origin {
            birth,
            parent: (!depth.is_multiple_of(DEPTH)).then(|| self.clone()),
            site: Some(site),
            depth,
        })
    }

    /// The name; `None` for the world.
    pub(crate) fn name(&self) -> Option<Arc<str>> {
        (self.birth != Birth::World).then(|| self.to_string().into())
    }
}

impl fmt::Display for Birth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Birth::World => f.write_str("world"),
            Birth::Dup => f.write_str("dup"),
            Birth::Split(colour) => write!(f, "split colour {colour}"),
            Birth::SplitBy(kind, part) => write!(f, "split_by {kind} {part}"),
            Birth::Cartesian(dims) => {
                let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
                write!(f, "cartesian {}", dims.join("x"))
            }
            Birth::Graph => f.write_str("graph"),
            Birth::Shrink => f.write_str("shrink"),
            Birth::Subset => f.write_str("subset"),
            Birth::Window => f.write_str("window"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(site) = self.site else {
            return self.birth.fmt(f);
        };
        write!(f, "{} of ", self.birth)?;
        match &self.parent {
            Some(parent) if parent.site.is_none() => write!(f, "{parent} at {site}"),
            Some(parent) => write!(f, "({parent}) at {site}"),
            None => write!(
                f,
                "a communicator of generation {} at {site}",
                self.depth - 1
            ),
        }
    }
}

/// The origins of the last communicators that no rank holds any more, for recorded operations that still name them.
#[derive(Debug, Default)]
pub(in crate::transport) struct Former(VecDeque<(u32, Arc<Origin>)>);

impl Former {
    /// More than one rank's recorded operations can name.
    const KEPT: usize = 256;

    pub(in crate::transport) fn add(&mut self, context: u32, origin: Arc<Origin>) {
        if self.0.len() == Former::KEPT {
            self.0.pop_front();
        }
        self.0.push_back((context, origin));
    }

    pub(in crate::transport) fn iter(&self) -> impl Iterator<Item = (u32, &Arc<Origin>)> {
        self.0.iter().map(|(context, origin)| (*context, origin))
    }
}

/// The names of communicators by their contexts, all but the world's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Vec<(u32, Arc<Origin>)>);

impl Names {
    pub(in crate::transport) fn of<'a>(
        origins: impl Iterator<Item = (u32, &'a Arc<Origin>)>,
    ) -> Names {
        let mut names: Vec<_> = origins
            .map(|(context, origin)| (context, origin.clone()))
            .collect();
        sort::by_numbers(&mut names, |(context, _)| [*context as usize]);
        Names(names)
    }

    /// The name of the communicator with this context; `None`: it is the world.
    pub(crate) fn get(&self, context: u32) -> Option<Arc<str>> {
        let context = communicator(context);
        if context == 0 {
            return None;
        }
        let found = self
            .0
            .binary_search_by_key(&context, |(context, _)| *context);
        match found {
            Ok(place) => self.0[place].1.name(),
            Err(_) => Some("a former communicator".into()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn a_name_tells_the_call_its_line_and_the_parent() {
        let site = Location::caller();
        let world = Origin::world();
        assert_eq!((world.to_string().as_str(), world.name()), ("world", None));
        let dup = world.child(Birth::Dup, site);
        assert_eq!(dup.to_string(), format!("dup of world at {site}"));
        let part = dup.child(Birth::Split(1), site);
        let grid = part.child(Birth::Cartesian([2, 3].into()), site);
        assert_eq!(
            grid.to_string(),
            format!(
                "cartesian 2x3 of (split colour 1 of (dup of world at {site}) at {site}) at {site}"
            )
        );
    }

    #[test]
    fn a_long_line_of_ancestors_is_not_kept() {
        let site = Location::caller();
        let mut last = Origin::world();
        for _ in 0..100_000 {
            last = last.child(Birth::Dup, site);
        }
        assert!(last.to_string().len() < 1000, "{last}");
    }

    #[test]
    fn names_are_found_by_the_context_of_messages_and_of_collectives() {
        let site = Location::caller();
        let dup = Origin::world().child(Birth::Dup, site);
        let names = Names::of([(8, &dup), (4, &dup)].into_iter());
        assert_eq!(names.get(0).or(names.get(2)), None);
        let name = dup.name();
        assert!(
            name.is_some()
                && [4, 5, 6, 8, 9, 10]
                    .iter()
                    .all(|context| names.get(*context) == name)
        );
        assert_eq!(names.get(12).as_deref(), Some("a former communicator"));
    }
}
