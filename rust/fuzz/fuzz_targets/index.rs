#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

#[allow(dead_code)] // the other targets' parts
#[path = "../../core/tests/fuzzing/mod.rs"]
mod fuzzing;

fuzz_target!(|bytes: &[u8]| -> Corpus { if fuzzing::index::check(bytes) { Corpus::Keep } else { Corpus::Reject } });
