//! Other load on the machine during a measurement, and so how far the figures can be trusted.

use std::fs;
use std::time::Instant;

use super::clock::process_cpu;
use super::ground::{Pair, cache_line};

/// Times of all CPUs by state since the system started, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTimes {
    /// Work of any process.
    pub busy: f64,
    /// Time for which a virtual machine was ready to run while others had its CPUs.
    pub stolen: f64,
}

impl CpuTimes {
    /// Returns the system's own counts; `None` where there are none.
    pub fn now() -> Option<CpuTimes> {
        CpuTimes::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Parses the first line of `/proc/stat`.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::measure::CpuTimes;
    ///
    /// let load = CpuTimes::parse("cpu  100 20 30 4000 50 6 7 800 90 0\ncpu0 ...").unwrap();
    /// assert!((load.busy - 1.63).abs() < 1e-9 && (load.stolen - 8.0).abs() < 1e-9);
    /// ```
    pub fn parse(stat: &str) -> Option<CpuTimes> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let words = line.split_whitespace().map(str::parse);
        let ticks: Vec<f64> = words.collect::<Result<_, _>>().ok()?;
        let [user, nice, system, _idle, _wait, irq, soft, stolen, ..] = ticks[..] else {
            return None;
        };
        // Linux counts in hundredths of a second here, whatever its own tick is.
        Some(CpuTimes {
            busy: (user + nice + system + irq + soft) / 100.0,
            stolen: stolen / 100.0,
        })
    }
}

/// Returns the clock rates of all CPUs in MHz, as far as the system reports them.
fn rates() -> Vec<f64> {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let lines = info.lines().filter_map(|line| line.split_once(':'));
    let rates = lines.filter(|(key, _)| key.trim() == "cpu MHz");
    rates
        .filter_map(|(_, value)| value.trim().parse().ok())
        .collect()
}

/// Samples the load of the machine during a measurement.
#[derive(Debug)]
pub struct Watch {
    begin: Instant,
    load: Option<CpuTimes>,
    own: f64,
    pair: Option<Pair>,
    noise: Noise,
}

/// The load on the machine during a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Noise {
    /// Duration of the measurement, in seconds.
    pub wall_s: f64,
    /// Number of CPUs that other processes kept busy, on average.
    pub others_cpus: Option<f64>,
    /// Number of CPUs that a virtual machine was denied, on average.
    pub stolen_cpus: Option<f64>,
    /// Nanoseconds that a cache line took between two cores: before, between the passes, and after.
    pub line_ns: Vec<f64>,
    /// The lowest and the highest clock rate that were seen.
    pub mhz: Option<(f64, f64)>,
}

impl Watch {
    /// Starts watching; `pair` names the two CPUs between which the cache line is timed.
    pub fn start(pair: Option<Pair>) -> Watch {
        let mut watch = Watch {
            begin: Instant::now(),
            load: CpuTimes::now(),
            own: process_cpu(),
            pair,
            noise: Noise::default(),
        };
        watch.look();
        watch
    }

    /// Takes a sample, which takes some milliseconds.
    pub fn look(&mut self) {
        // A process that may start no threads has no ranks to measure either, and starting the ranks reports the error.
        let line = self.pair.as_ref().and_then(|pair| cache_line(pair).ok());
        self.noise.line_ns.extend(line.map(|seconds| 1e9 * seconds));
        for rate in rates() {
            let (low, high) = self.noise.mhz.unwrap_or((rate, rate));
            self.noise.mhz = Some((low.min(rate), high.max(rate)));
        }
    }

    /// Takes the last sample and returns the noise.
    pub fn finish(mut self) -> Noise {
        self.look();
        let wall = self.begin.elapsed().as_secs_f64();
        let own = process_cpu() - self.own;
        let since = self.load.zip(CpuTimes::now());
        self.noise.wall_s = wall;
        // Ticks are coarse, and the process's own time is not: the difference may be negative.
        let rate = |seconds: f64| (seconds / wall).max(0.0);
        self.noise.others_cpus = since.map(|(a, b)| rate(b.busy - a.busy - own));
        self.noise.stolen_cpus = since.map(|(a, b)| rate(b.stolen - a.stolen));
        self.noise
    }
}

/// From this many CPUs on, the work of others shows in the figures.
const MUCH: f64 = 0.1;
/// From this many CPUs on, medians are unreliable.
const TOO_MUCH: f64 = 0.25;
/// From this ratio on, two times differ.
const FAR: f64 = 1.5;

impl Noise {
    /// Returns caveats for the reader of the figures, one sentence each; none if the machine was quiet.
    pub fn remarks(&self) -> Vec<String> {
        let load = |cpus: Option<f64>, what: &str| {
            let cpus = cpus.filter(|cpus| *cpus >= MUCH)?;
            Some(format!(
                "{what} {cpus:.1} CPUs on average: p99 and max are theirs as well, and medians may be"
            ))
        };
        let mut remarks = Vec::new();
        remarks.extend(load(self.others_cpus, "other processes used"));
        remarks.extend(load(
            self.stolen_cpus,
            "the host of this virtual machine withheld",
        ));
        if let Some((near, far)) = self.lines().filter(|(near, far)| far / near >= FAR) {
            remarks.push(format!(
                "a cache line took from {near:.0} to {far:.0} ns between two cores: the machine changed meanwhile, and \
                 short messages with it"
            ));
        }
        if let Some((low, high)) = self.mhz.filter(|(low, high)| high / low >= 1.1) {
            remarks.push(format!(
                "the clock rate was between {low:.0} and {high:.0} MHz"
            ));
        }
        remarks
    }

    /// Returns whether others used so much of the machine that nothing should be decided by the measurements: a quarter
    /// of a CPU, on average.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::measure::Noise;
    ///
    /// let busy = Noise { others_cpus: Some(1.0), ..Noise::default() };
    /// assert!(busy.is_busy() && !Noise::default().is_busy());
    /// ```
    pub fn is_busy(&self) -> bool {
        let much = |cpus: Option<f64>| cpus.is_some_and(|cpus| cpus >= TOO_MUCH);
        much(self.others_cpus) || much(self.stolen_cpus)
    }

    /// Returns the noise in one line: what others used, what the host withheld, how long a cache line took.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::measure::Noise;
    ///
    /// let quiet = Noise { others_cpus: Some(0.02), line_ns: vec![81.0, 84.0], ..Noise::default() };
    /// assert_eq!(quiet.summary(), "other processes used 0.02 CPUs, a cache line took 81 to 84 ns between two cores");
    /// assert_eq!(Noise::default().summary(), "what else the machine did is not known here");
    /// ```
    pub fn summary(&self) -> String {
        let load = |cpus: Option<f64>, what: &str| Some(format!("{what} {:.2} CPUs", cpus?));
        let line = self.lines().map(|(near, far)| {
            format!("a cache line took {near:.0} to {far:.0} ns between two cores")
        });
        let stolen = self.stolen_cpus.filter(|cpus| *cpus > 0.0);
        let parts = [
            load(self.others_cpus, "other processes used"),
            load(stolen, "the host withheld"),
            line,
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => "what else the machine did is not known here".into(),
            false => parts.join(", "),
        }
    }

    /// Returns the shortest and the longest time of a cache line, in nanoseconds.
    pub fn lines(&self) -> Option<(f64, f64)> {
        let near = self.line_ns.iter().copied().reduce(f64::min)?;
        let far = self.line_ns.iter().copied().reduce(f64::max)?;
        Some((near, far))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_count_is_not_read() {
        for wrong in [
            "",
            "cpu",
            "cpu  1 2 3",
            "intr 1 2 3 4 5 6 7 8",
            "cpu  1 2 3 4 5 6 x 8",
        ] {
            assert_eq!(CpuTimes::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_quiet_machine_is_not_remarked_on_and_a_busy_one_is() {
        let quiet = Noise {
            others_cpus: Some(0.01),
            stolen_cpus: Some(0.0),
            line_ns: vec![84.0, 90.0],
            mhz: Some((2000.0, 2100.0)),
            ..Noise::default()
        };
        assert_eq!(quiet.remarks(), Vec::<String>::new());
        let busy = Noise {
            others_cpus: Some(0.5),
            stolen_cpus: Some(0.2),
            line_ns: vec![84.0, 350.0],
            mhz: Some((800.0, 3000.0)),
            ..Noise::default()
        };
        let remarks = busy.remarks();
        assert_eq!(remarks.len(), 4);
        assert!(remarks[0].starts_with("other processes used 0.5 CPUs"));
        assert!(remarks[2].starts_with("a cache line took from 84 to 350 ns"));
    }

    #[test]
    fn time_that_the_process_itself_takes_is_not_others() {
        let mut watch = Watch::start(None);
        watch.look();
        let noise = watch.finish();
        assert!(noise.line_ns.is_empty() && noise.wall_s > 0.0);
        assert_eq!(noise.others_cpus.is_some(), CpuTimes::now().is_some());
    }
}
