//! One program for all of these tests: each further one would be compiled and linked with the same crates again.

mod arithmetic;
mod changes;
mod disciplines;
mod draws;
mod driver;
mod examples;
mod limits;
mod policing;
mod properties;
mod rates;
mod reference;
mod refusals;
mod rng;
mod scene;
mod throughput;
mod traces;
mod witness;
