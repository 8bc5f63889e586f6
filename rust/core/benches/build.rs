//! From reference answers to a scorer: the states, the table, the whole with its baselines.

#![allow(missing_docs)] // of what the macros make

#[allow(dead_code)] // what the other bench uses
mod made;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pfgen_core::{Scorer, Settings, internals};

fn build(criterion: &mut Criterion) {
    let settings = Settings::default();
    let mut group = criterion.benchmark_group("build");
    group.sample_size(10);
    for count in [1, 3] {
        let texts = made::sources(count);
        let sources = made::borrowed(&texts);
        group.bench_function(BenchmarkId::new("states", count), |b| {
            b.iter(|| internals::count_states(&sources, &settings));
        });
        group.bench_function(BenchmarkId::new("table", count), |b| {
            b.iter(|| internals::build_table(&sources, &settings));
        });
        group.bench_function(BenchmarkId::new("scorer", count), |b| {
            b.iter(|| Scorer::new(&sources, settings.clone()));
        });
    }
    group.finish();
}

criterion_group!(benches, build);
criterion_main!(benches);
