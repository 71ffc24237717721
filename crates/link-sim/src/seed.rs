//! The seed of a simulation. It is printed, so that a failure can be repeated.

use std::env;
use std::hash::{BuildHasher, RandomState};

use link_model::Stream;

/// The environment variable that sets the seed.
const VARIABLE: &str = "SIMULATION_SEED";

/// The source of all randomness of one simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of the environment variable `SIMULATION_SEED`, otherwise a new one. It is printed, and a test
    /// runner shows it when the test fails.
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
