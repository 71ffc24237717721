//! One program for all of these tests: each further one would be compiled and linked with the same crates again.

mod moments;
mod ten_minutes;
