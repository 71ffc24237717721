//! The seed of a simulation: printed, so that a failure can be had again.

use std::env;
use std::hash::{BuildHasher, RandomState};

use link_model::Stream;

/// The environment variable that sets the seed.
const VARIABLE: &str = "SIMULATION_SEED";

/// Where all randomness of one simulation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of the environment variable `SIMULATION_SEED`, else a new one. It is printed; a test runner
    /// shows that when the test fails.
    ///
    /// # Panics
    /// When the variable is no number.
    #[must_use]
    pub fn choose() -> Self {
        let seed = match env::var(VARIABLE) {
            Ok(text) => Self(text.parse().expect("SIMULATION_SEED is a number")),
            Err(_) => Self(RandomState::new().hash_one(VARIABLE)),
        };
        println!("{VARIABLE}={}", seed.0);
        seed
    }

    /// A key for the random stream of one purpose.
    #[must_use]
    pub const fn key(self, purpose: u64) -> u64 {
        Stream::new(self.0).word(purpose)
    }
}
