//! The failure of a step of the set-up.

use std::io;

use crate::protocol::Event;

/// An error, and the step of the set-up in which it occurred.
#[derive(Debug)]
pub struct Failure {
    step: String,
    cause: io::Error,
}

/// Names the step in which an error occurred.
pub trait Step<T> {
    /// Attach the name of the step to the error.
    ///
    /// # Errors
    /// The error itself.
    fn step(self, name: impl Into<String>) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, name: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|cause| Failure { step: name.into(), cause: cause.into() })
    }
}

impl Failure {
    /// Report it to the orchestrator.
    pub fn report(self) {
        let errno = self.cause.raw_os_error();
        Event::Error { step: self.step, message: self.cause.to_string(), errno }.send();
    }
}
