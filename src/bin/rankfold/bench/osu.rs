//! Results in the layout of the OSU micro-benchmarks, for scripts that parse it.
//!
//! There is a table for each collective, algorithm and number of ranks: lines that begin with `#`, then a line of
//! numbers for each size. The latencies are the mean, the minimum and the maximum of the ranks' mean times. Sizes are
//! what OSU's are: those of a block where the vector has blocks, but of the whole vector for `reduce_scatter`.

use rankfold::measure::{Measured, Run, mean};

/// The widths of OSU's columns.
const FIRST: usize = 10;
const OTHER: usize = 20;

pub fn text(run: &Run) -> String {
    let by = |one: &Measured| one.algorithm_and_transport();
    let key = |one: &Measured| (one.collective.clone(), by(one), one.ranks);
    let tables = run.results.chunk_by(|a, b| key(a) == key(b));
    let tables: Vec<String> = tables.map(|own| head(&own[0]) + &lines(own)).collect();
    tables.join("\n")
}

fn head(first: &Measured) -> String {
    let (ranks, kind) = (first.ranks, datatype(&first.kind));
    let title = format!(
        "# rankfold {} by {} Latency Test, {ranks} ranks\n# Datatype: {kind}.\n",
        first.collective,
        first.algorithm_and_transport()
    );
    let columns = match first.collective.as_str() {
        "send" => format!("{:<FIRST$}{:>OTHER$}\n", "# Size", "Latency (us)"),
        "barrier" => format!("{:<FIRST$}{}\n", "#", heads()),
        _ => format!("{:<FIRST$}{}\n", "# Size", heads()),
    };
    title + &columns
}

/// Returns MPI's name of the type, as used in OSU's tables.
fn datatype(kind: &str) -> &str {
    match kind {
        "f32" => "MPI_FLOAT",
        "f64" => "MPI_DOUBLE",
        "i32" => "MPI_INT",
        "i64" => "MPI_INT64_T",
        "u8" => "MPI_UINT8_T",
        "u32" => "MPI_UINT32_T",
        "u64" => "MPI_UINT64_T",
        other => other,
    }
}

fn heads() -> String {
    let heads = [
        "Avg Latency(us)",
        "Min Latency(us)",
        "Max Latency(us)",
        "Iterations",
    ];
    heads.map(|head| format!("{head:>OTHER$}")).concat()
}

fn lines(own: &[Measured]) -> String {
    own.iter().map(line).collect()
}

fn line(one: &Measured) -> String {
    let size = match one.collective.as_str() {
        "barrier" => String::new(),
        "reduce_scatter" => one.bytes.to_string(),
        _ => one.block_bytes.to_string(),
    };
    let average = mean(&one.ranks_us);
    if one.collective == "send" {
        return format!("{size:<FIRST$}{average:>OTHER$.2}\n");
    }
    let least = one.ranks_us.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = one.ranks_us.iter().copied().fold(0.0, f64::max);
    let times = [average, least, greatest].map(|time| format!("{time:>OTHER$.2}"));
    format!("{size:<FIRST$}{}{:>OTHER$}\n", times.concat(), one.calls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankfold::measure::Type;

    #[test]
    fn every_type_has_a_name_of_mpis() {
        for kind in ["f32", "f64", "i32", "i64", "u8", "u32", "u64"] {
            let known: Type = kind.parse().unwrap();
            assert!(datatype(known.name()).starts_with("MPI_"), "{kind}");
        }
    }
}
