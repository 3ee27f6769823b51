//! The passes: each visits every point once, so that disturbances of the machine affect all points alike.

use std::io;
use std::time::SystemTime;

use indicatif::ProgressBar;
use rankfold::WorldError;
use rankfold::machine::Bind;
use rankfold::measure::{
    self, Control, Failure, Host, Limit, Measured, Pair, Pass, Point, Proved, Run, SCHEMA,
    Settings, Watch,
};

use super::plan::Plan;
use super::print::figure;
use super::{commit, dispatch};
use crate::progress;
use crate::stop::Stop;

/// A point, and its results so far.
struct Open<'a> {
    point: &'a Point,
    proved: Proved,
    passes: Vec<Pass>,
}

pub fn run(plan: &Plan, control: &Control) -> Result<Run, Stop> {
    let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let progress = progress::of_steps(plan.points.len() * (plan.passes + 1));
    let mut watch = Watch::start(Pair::first(&plan.machine));
    let limits = limits(plan, control)?;
    let mut open = prove(plan, control, &progress)?;
    for _ in 0..plan.passes {
        pass(&mut open, plan, control, &progress)?;
        watch.look();
    }
    progress.finish_and_clear();
    let noise = watch.finish();
    let results: Vec<Measured> = open
        .iter()
        .filter_map(|one| Measured::new(one.point, &one.proved, &one.passes))
        .collect();
    let mut run = Run {
        schema: SCHEMA.into(),
        build: commit::build(),
        command: std::env::args().collect(),
        started: started.map_or(0, |since| since.as_secs()),
        machine: Host::of(&plan.machine),
        settings: settings(plan),
        remarks: noise.remarks(),
        noise,
        limits,
        interrupted: control.is_stopped(),
        results,
    };
    let more = remarks(plan, &run, &open);
    run.remarks.extend(more);
    Ok(run)
}

/// Times every point once.
fn pass(
    open: &mut [Open<'_>],
    plan: &Plan,
    control: &Control,
    progress: &ProgressBar,
) -> Result<(), Stop> {
    let mut last = String::new();
    for one in open {
        if control.is_stopped() {
            break;
        }
        progress.set_message(format!("{}{last}", words(one.point)));
        let passed = dispatch::passed(one.point, &plan.effort, control);
        let passed = passed.map_err(|failure| failed(one.point, failure))?;
        last = said(one.point, &passed);
        one.passes.push(passed);
        progress.inc(1);
    }
    Ok(())
}

/// The figure of a pass, shown beside the point that is measured next.
fn said(point: &Point, passed: &Pass) -> String {
    let (ranks, bytes) = (point.ranks, point.bytes());
    let time = figure(1e6 * passed.median());
    format!(";  {ranks} ranks, {bytes} bytes: {time} µs")
}

fn settings(plan: &Plan) -> Settings {
    let first = &plan.points[0];
    Settings {
        passes: plan.passes,
        pass_s: plan.effort.time.as_secs_f64(),
        samples: plan.effort.samples,
        bind: first.bind.to_string(),
        fresh: first.fresh,
    }
}

fn prove<'a>(
    plan: &'a Plan,
    control: &Control,
    progress: &ProgressBar,
) -> Result<Vec<Open<'a>>, Stop> {
    let mut open = Vec::new();
    for point in &plan.points {
        if control.is_stopped() {
            break;
        }
        progress.set_message(words(point));
        let proved = dispatch::proved(point).map_err(|failure| failed(point, failure))?;
        open.push(Open {
            point,
            proved,
            passes: Vec::new(),
        });
        progress.inc(1);
    }
    Ok(open)
}

/// Measures the limits for these lengths: all cores together, but at most one per rank, each with its share.
fn limits(plan: &Plan, control: &Control) -> Result<Vec<Limit>, Stop> {
    let most = plan
        .points
        .iter()
        .map(|point| point.ranks)
        .max()
        .unwrap_or(1);
    let cores = measure::each_on(&plan.machine, most);
    if cores.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = plan
        .bytes()
        .into_iter()
        .take_while(|_| !control.is_stopped());
    let limit = |bytes: usize| {
        let share = bytes.div_ceil(cores.len());
        let copy = measure::copy(&cores, &plan.machine, share)?;
        let add = measure::add(&cores, &plan.machine, share)?;
        Ok(Limit {
            bytes,
            cores: cores.len(),
            copy_us: 1e6 * copy,
            add_us: 1e6 * add,
        })
    };
    let limits: io::Result<_> = bytes.map(limit).collect();
    limits.map_err(|error| Stop::input(Failure::Thread(error)))
}

/// From this share of the median on, an interval is wide.
const WIDE: f64 = 0.2;

/// Returns further caveats for the reader.
fn remarks(plan: &Plan, run: &Run, open: &[Open<'_>]) -> Vec<String> {
    let mut remarks = Vec::new();
    if !run.build.optimised {
        remarks.push("this program was built without optimisations: use --release".into());
    }
    let cpus = plan.machine.usable.usable();
    if plan.points.iter().any(|point| point.ranks > cpus) {
        remarks.push(format!(
            "more ranks than the {cpus} usable CPUs share them: they wait for each other's turns"
        ));
    }
    let fits = |one: &&Open<'_>| one.point.ranks <= cpus && one.point.bind != Bind::None;
    let unpinned = |one: &Open<'_>| {
        let placement = &one.proved.placement;
        let refused = placement.refused.first().map(|(_, why)| why.to_string());
        refused.or(placement.why_unpinned.as_ref().map(ToString::to_string))
    };
    if let Some(why) = open.iter().filter(fits).find_map(unpinned) {
        remarks.push(format!("ranks were not pinned: {why}"));
    }
    let wide = run
        .results
        .iter()
        .filter(|one| super::print::width(one) > WIDE)
        .count();
    if wide > 0 {
        let all = run.results.len();
        remarks.push(format!(
            "the median of {wide} of {all} points is known to within no better than {:.0} %: more --passes, or --time, \
             or a quieter machine",
            100.0 * WIDE
        ));
    }
    if run.interrupted {
        remarks.push("interrupted: some points have fewer passes, or none".into());
    }
    remarks
}

fn words(point: &Point) -> String {
    let by = point.algorithm.map_or("auto".into(), |by| by.to_string());
    format!(
        "{} by {by}, {} ranks, {} bytes",
        point.subject,
        point.ranks,
        point.bytes()
    )
}

/// Distinguishes bad input from a fault.
fn failed(point: &Point, failure: Failure) -> Stop {
    let line = format!("{}: {failure}", words(point)).replace('\n', "; ");
    match failure {
        Failure::World(WorldError::Usage(_) | WorldError::Spawn { .. }) => Stop::Input(line),
        _ => Stop::Fault(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankfold::collective::Collective;
    use rankfold::measure::{Type, Wrong};

    #[test]
    fn a_wrong_result_is_a_fault_and_a_call_that_makes_no_sense_is_input() {
        let point = Point::new(Collective::AllReduce.into(), 2, 16, Type::F32);
        let wrong = Wrong {
            rank: 1,
            element: 7,
            found: "3".into(),
            expected: "4".into(),
        };
        let Stop::Fault(line) = failed(&point, Failure::Wrong(wrong)) else {
            panic!("a wrong result must not end well");
        };
        assert_eq!(
            line,
            "all_reduce by auto, 2 ranks, 64 bytes: the result is wrong: element 7 of rank 1 is 3 and must be 4"
        );
        let usage = Failure::World(WorldError::Usage("no ranks".into()));
        assert!(matches!(failed(&point, usage), Stop::Input(_)));
    }
}
