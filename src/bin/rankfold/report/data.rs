//! The data of a report and its format: `rankfold.report/1`, or a run of `rankfold bench`.

use std::path::Path;

use rankfold::collective::Choice;
use rankfold::measure::{Latency, Measured, Run, SCHEMA};
use serde::{Deserialize, Serialize};

use crate::input;
use crate::stop::Stop;

pub const REPORT_SCHEMA: &str = "rankfold.report/1";

/// All measurements and choices.
#[derive(Serialize, Deserialize)]
pub struct Data {
    pub schema: String,
    pub run: Run,
    /// `None` if there are fewer than two CPUs.
    pub latency: Option<Latency>,
    /// The choices for a table of calls.
    pub choices: Vec<Chosen>,
}

/// The automatic choice for a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    pub collective: String,
    pub ranks: usize,
    pub bytes: usize,
    pub algorithm: String,
    pub runner_up: Option<String>,
    pub reason: Option<String>,
}

impl Chosen {
    /// Records the library's choice for a call; a table of tuned choices has been consulted if there is one.
    pub fn new(collective: &str, ranks: usize, bytes: usize, choice: &Choice) -> Chosen {
        Chosen {
            collective: collective.into(),
            ranks,
            bytes,
            algorithm: choice.algorithm.to_string(),
            runner_up: choice.runner_up.map(|next| next.to_string()),
            reason: Some(choice.reason.clone()),
        }
    }

    /// Records the choice in a result of `bench`.
    fn of(one: &Measured) -> Option<Chosen> {
        Some(Chosen {
            collective: one.collective.clone(),
            ranks: one.ranks,
            bytes: one.bytes,
            algorithm: one.chosen.clone()?,
            runner_up: None,
            reason: None,
        })
    }
}

/// Reads the output of `report --data` or `bench --format json`.
pub fn read(path: &Path) -> Result<Data, Stop> {
    let name = path.display();
    let mut data =
        parsed(&input::read(path)?).map_err(|why| Stop::Input(format!("{name}: {why}")))?;
    // A file may contain what no run writes, such as times that have no place on a logarithmic axis.
    data.run
        .results
        .retain(|one| one.time_us.p50 > 0.0 && one.ranks > 0);
    if data.run.results.is_empty() {
        return Err(Stop::Input(format!("{name}: no result in it")));
    }
    Ok(data)
}

fn parsed(text: &str) -> Result<Data, String> {
    let not = |error: serde_json::Error| {
        format!("this is nothing that `report --data` or `bench --format json` writes: {error}")
    };
    match &*input::schema(text).map_err(not)? {
        REPORT_SCHEMA => serde_json::from_str(text).map_err(not),
        SCHEMA => {
            let run: Run = serde_json::from_str(text).map_err(not)?;
            let choices = run.results.iter().filter_map(Chosen::of).collect();
            Ok(Data {
                schema: REPORT_SCHEMA.into(),
                run,
                latency: None,
                choices,
            })
        }
        other => Err(format!(
            "this is {other:?}, not {REPORT_SCHEMA:?} or {SCHEMA:?}"
        )),
    }
}
