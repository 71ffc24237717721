//! One program for all of these tests: each further one would be compiled and linked with the same crates again.

mod acknowledged;
mod answers;
mod build;
mod connections;
mod frames;
mod garbage;
mod marks;
mod openings;
mod ports;
