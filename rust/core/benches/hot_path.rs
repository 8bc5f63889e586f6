//! Scoring 32 responses to a question of three sources: each pass by itself and all of them, for every instruction set.

#![allow(missing_docs)] // of what the macros make

mod made;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use made::Made;
use pfgen_core::internals::{self, Pass};
use pfgen_core::{InstructionSet, Scorer, Scratch, Settings, SourceScore};

const RESPONSES: usize = 32;
const PASSES: [(&str, Pass); 4] =
    [("load", Pass::Load), ("repeats", Pass::Repeats), ("traverse", Pass::Walk), ("finish", Pass::Finish)];

fn passes(criterion: &mut Criterion) {
    let texts = made::sources(3);
    let scorer = Scorer::new(&made::borrowed(&texts), Settings::default()).expect("the answers can be scored");
    let responses = Made::new(2).answers(RESPONSES);
    let responses: Vec<&str> = responses.iter().map(String::as_str).collect();
    let mut passes = internals::passes(&scorer, &responses).expect("there is room for the compact layout");
    for (name, pass) in PASSES {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(RESPONSES as u64));
        for set in InstructionSet::available() {
            group.bench_function(set.name(), |b| b.iter(|| passes.run(set, pass)));
        }
        group.finish();
    }
    whole(criterion, &scorer, &responses);
}

fn whole(criterion: &mut Criterion, scorer: &Scorer, responses: &[&str]) {
    let mut scratch = Scratch::default();
    let mut scores = vec![SourceScore::default(); responses.len() * scorer.source_count()];
    let mut lengths = vec![0; responses.len()];
    let mut group = criterion.benchmark_group("score");
    group.throughput(Throughput::Elements(responses.len() as u64));
    for set in InstructionSet::available() {
        group.bench_function(set.name(), |b| {
            b.iter(|| scorer.score_with(set, responses, &mut scratch, &mut scores, &mut lengths));
        });
    }
    group.finish();
}

criterion_group!(benches, passes);
criterion_main!(benches);
