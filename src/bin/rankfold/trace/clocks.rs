//! How the clocks of processes are aligned, by the messages between them.
//!
//! No message is received before it was sent: so each message from one process to another bounds the difference of their
//! clocks from one side, and one the other way from the other side. The bounds follow from one process to the next
//! (shortest paths), and a clock is put into the middle of what its bounds leave: if messages take as long one way as the
//! other at best, that is right (Cristian, *Probabilistic clock synchronization*, 1989). A clock with bounds on one side
//! alone is put as near to the common start as they allow, since all clocks begin when the world opens.
//!
//! If clocks run at different speeds, no difference may agree with all messages; then all are allowed to be received early by
//! the least time with which some clocks agree.

/// Nanoseconds.
pub type Time = i64;

/// No bound. The sum of two is a number.
const NONE: Time = Time::MAX / 4;

/// What the clocks of processes may be.
#[derive(Clone)]
pub struct Clocks {
    /// By processes a and b: the most that is to be added to the clock of b, more than to that of a.
    most: Vec<Vec<Time>>,
}

/// The place of one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aligned {
    /// What is added to its times.
    pub add: Time,
    /// How far from that it may be, at most, to either side; `None` if messages do not tell.
    pub within: Option<Time>,
}

impl Clocks {
    /// The clocks of `processes` processes, nothing known of them.
    pub fn of(processes: usize) -> Clocks {
        let mut most = vec![vec![NONE; processes]; processes];
        (0..processes).for_each(|process| most[process][process] = 0);
        Clocks { most }
    }

    /// A message was sent and received at these times of the clocks of these processes.
    pub fn message(&mut self, (from, sent): (usize, Time), (to, received): (usize, Time)) {
        let most = &mut self.most[to][from];
        *most = (*most).min(received - sent);
    }

    /// Aligns all clocks with that of process 0.
    pub fn align(mut self) -> Vec<Aligned> {
        let slack = self.slack();
        self.loosen(slack);
        let all = 0..self.most.len();
        self.tighten(all.clone());
        // A clock that is placed bounds the next ones, but where it is placed is no more certain for that.
        let told = self.clone();
        let aligned = |process| {
            let add = self.place(process);
            let (least, most) = told.bounds(process);
            Aligned {
                add,
                within: is_bounded(least, most).then(|| (most - add).max(add - least) + slack),
            }
        };
        all.map(aligned).collect()
    }

    /// Places a clock, to which those that follow then keep. Returns what is added to its times.
    fn place(&mut self, process: usize) -> Time {
        let (least, most) = self.bounds(process);
        let add = match is_bounded(least, most) {
            true => least + (most - least) / 2,
            false => 0.max(least).min(most),
        };
        (self.most[0][process], self.most[process][0]) = (add, -add);
        self.tighten([0, process]);
        add
    }

    /// The least and the most that is to be added to a clock, more than to the first one.
    fn bounds(&self, process: usize) -> (Time, Time) {
        (-self.most[process][0], self.most[0][process])
    }

    /// The least time by which all messages must be allowed to be received early, so that some clocks agree with them.
    fn slack(&self) -> Time {
        let bounds = self.most.iter().flatten().filter(|most| **most < NONE);
        let widest = bounds.map(|most| most.abs()).max().unwrap_or(0);
        if self.agrees(0) {
            return 0;
        }
        let (mut low, mut high) = (0, widest);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.agrees(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        high
    }

    /// Whether some clocks agree with all messages, received early by so much.
    fn agrees(&self, slack: Time) -> bool {
        let mut loose = self.clone();
        loose.loosen(slack);
        loose.tighten(0..self.most.len());
        (0..self.most.len()).all(|process| loose.most[process][process] >= 0)
    }

    fn loosen(&mut self, slack: Time) {
        for (from, row) in self.most.iter_mut().enumerate() {
            let bounds = row
                .iter_mut()
                .enumerate()
                .filter(|(to, most)| *to != from && **most < NONE);
            bounds.for_each(|(_, most)| *most += slack);
        }
    }

    /// Shortest paths by way of these processes (Floyd, *Algorithm 97*, 1962).
    fn tighten(&mut self, by: impl IntoIterator<Item = usize>) {
        for by in by {
            let onward = self.most[by].clone();
            for row in &mut self.most {
                let first = row[by];
                let known = row
                    .iter_mut()
                    .zip(&onward)
                    .filter(|(_, next)| first < NONE && **next < NONE);
                // Where no clocks agree, paths get shorter and shorter.
                known.for_each(|(most, next)| *most = (*most).min(first + next).max(-NONE));
            }
        }
    }
}

/// Whether there are bounds on both sides.
fn is_bounded(least: Time, most: Time) -> bool {
    least > -NONE && most < NONE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages between processes whose clocks are behind the true time by so much: sender, receiver, true time, duration.
    fn aligned(behind: &[Time], messages: &[(usize, usize, Time, Time)]) -> Vec<Aligned> {
        let mut clocks = Clocks::of(behind.len());
        for &(from, to, sent, lasts) in messages {
            let clock = |process: usize, time: Time| (process, time - behind[process]);
            clocks.message(clock(from, sent), clock(to, sent + lasts));
        }
        clocks.align()
    }

    fn adds(behind: &[Time], messages: &[(usize, usize, Time, Time)]) -> Vec<Time> {
        aligned(behind, messages)
            .iter()
            .map(|one| one.add)
            .collect()
    }

    #[test]
    fn messages_that_take_as_long_both_ways_tell_the_difference() {
        let both = [(0, 1, 10, 5), (1, 0, 30, 5), (0, 1, 50, 9)];
        let found = aligned(&[0, 700], &both);
        assert_eq!(
            found[1],
            Aligned {
                add: 700,
                within: Some(5)
            }
        );
        assert_eq!(adds(&[0, -700], &both), [0, -700]);
    }

    #[test]
    fn differences_follow_from_process_to_process() {
        let chain = [(0, 1, 10, 4), (1, 0, 20, 4), (1, 2, 30, 6), (2, 1, 40, 6)];
        assert_eq!(adds(&[0, 100, -50], &chain), [0, 100, -50]);
        let within = aligned(&[0, 100, -50], &chain).into_iter();
        let within: Vec<_> = within.map(|one| one.within).collect();
        assert_eq!(within, [0, 4, 10].map(Some));
    }

    #[test]
    fn without_messages_one_way_a_clock_stays_as_near_to_the_start_as_it_may() {
        assert_eq!(adds(&[0, 700], &[]), [0, 0]);
        // Received at 315 - 700 of its clock, so at least 315 - 700 + add >= 310.
        assert_eq!(adds(&[0, 700], &[(0, 1, 310, 5)]), [0, 695]);
        // Sent before it was received anyway.
        assert_eq!(adds(&[0, 700], &[(1, 0, 310, 5)]), [0, 0]);
        assert_eq!(aligned(&[0, 7], &[(0, 1, 3, 5)])[1].within, None);
    }

    #[test]
    fn no_message_is_received_before_it_was_sent_whatever_is_known() {
        let behind = [0, 900, -400, 30];
        let all = [
            (0, 1, 100, 3),
            (1, 2, 110, 40),
            (2, 0, 200, 7),
            (3, 2, 210, 1),
            (1, 3, 220, 90),
            (2, 1, 330, 2),
            (0, 3, 400, 11),
        ];
        for some in 0..1 << all.len() {
            let chosen = all
                .iter()
                .enumerate()
                .filter(|(place, _)| some >> place & 1 == 1);
            let messages: Vec<_> = chosen.map(|(_, message)| *message).collect();
            let adds = adds(&behind, &messages);
            for (from, to, sent, lasts) in messages {
                let [sent, received] =
                    [(from, sent), (to, sent + lasts)].map(|(p, time)| time - behind[p] + adds[p]);
                assert!(sent <= received, "{some:b}, {from} to {to}");
            }
        }
    }

    #[test]
    fn clocks_of_different_speeds_are_put_into_the_middle() {
        let mut clocks = Clocks::of(2);
        // The other clock is first 100 behind, then 300.
        clocks.message((0, 1000), (1, 900));
        clocks.message((1, 1700), (0, 2000));
        clocks.message((0, 3000), (1, 2700));
        clocks.message((1, 900), (0, 1000));
        assert_eq!(
            clocks.align()[1],
            Aligned {
                add: 200,
                within: Some(100)
            }
        );
    }
}
