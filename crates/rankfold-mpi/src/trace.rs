//! The trace of a run, for Perfetto.

use std::fs;
use std::path::Path;

use rankfold::Report;

use crate::launch::Failed;
use crate::report;

/// Writes the trace of a run.
pub(crate) fn write(report: &Report<(), String>, file: &Path) -> Result<(), Failed> {
    let Some(mut trace) = report.trace() else {
        return Ok(());
    };
    for call in &mut trace.calls {
        call.call = report::in_mpi(&call.call);
    }
    fs::write(file, trace.to_perfetto()).map_err(|error| {
        Failed(format!(
            "the trace cannot be written: {}: {error}",
            file.display()
        ))
    })
}
