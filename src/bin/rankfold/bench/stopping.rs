//! Ctrl-C: the first one ends the run after the current sample, the second one at once.

use rankfold::measure::Control;

/// Returns the control that the first Ctrl-C stops.
#[cfg(unix)]
pub fn control() -> Control {
    use signal_hook::consts::SIGINT;
    use signal_hook::flag::{register, register_conditional_shutdown};

    let control = Control::default();
    // In this order: only a signal that finds the flag set ends the process. If the handlers cannot be registered,
    // Ctrl-C ends the process as usual.
    let _ = register_conditional_shutdown(SIGINT, 128 + SIGINT, control.stop.clone());
    let _ = register(SIGINT, control.stop.clone());
    control
}

/// Ctrl-C ends the process as usual.
#[cfg(not(unix))]
pub fn control() -> Control {
    Control::default()
}
