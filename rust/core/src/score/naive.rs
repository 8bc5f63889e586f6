//! The obvious way: every n-gram in a dictionary, one cut after the other. The oracle that tests hold the scorer to.

use super::keywords::NOT_FOUND;
use super::rules::{Rule, RuleStep};
use super::scale::Cut;
use super::settings::{Settings, Variant};
use rustc_hash::{FxHashMap, FxHashSet};

/// Markers of the papers' equations; no character has these numbers.
const BEGIN: u32 = 0x0011_0000;
const END: u32 = 0x0011_0001;

/// The answers of one source and what is measured by them.
#[derive(Debug)]
pub struct Source<'a> {
    settings: &'a Settings,
    answers: usize,
    frequencies: FxHashMap<Vec<u32>, u32>,
    baseline: f64,
}

impl<'a> Source<'a> {
    /// `None` where the answers score nothing against themselves.
    pub fn new(answers: &[&str], settings: &'a Settings) -> Option<Self> {
        let mut frequencies = FxHashMap::default();
        for answer in answers {
            let text = as_counted(settings, answer);
            let lengths = (settings.min_n..=settings.max_n).chain([settings.truthfulness_n]);
            let distinct: FxHashSet<&[u32]> = lengths.flat_map(|n| text.windows(n)).collect();
            for ngram in distinct {
                *frequencies.entry(ngram.to_vec()).or_default() += 1;
            }
        }
        let mut source = Self { settings, answers: answers.len(), frequencies, baseline: 1.0 };
        let own = answers.iter().fold(0.0, |sum, answer| sum + source.fluency(answer).0);
        source.baseline = own / answers.len() as f64;
        (source.baseline > 0.0).then_some(source)
    }

    /// Mean Fluency of the answers with baseline 1.
    pub fn baseline(&self) -> f64 {
        self.baseline
    }

    /// Fluency and its cut.
    pub fn fluency(&self, response: &str) -> Cut {
        let text = as_counted(self.settings, response);
        match self.settings.variant {
            Variant::PfgenBench => self.published_fluency(&text),
            Variant::Paper => (self.paper_fluency(&text), response.chars().count() as u32),
        }
    }

    /// Truthfulness and its cut.
    pub fn truthfulness(&self, response: &str) -> Cut {
        match self.settings.variant {
            Variant::PfgenBench => self.published_truthfulness(response),
            Variant::Paper => self.paper_truthfulness(response),
        }
    }

    /// Every n-gram counts where it ends first.
    fn published_fluency(&self, text: &[u32]) -> Cut {
        let (mut seen, mut raw, mut best) = (FxHashSet::default(), 0, (0.0, 0));
        for cut in 1..=text.len().min(self.settings.max_length) {
            for n in self.settings.min_n..=self.settings.max_n.min(cut) {
                let ngram = &text[cut - n..cut];
                raw += if seen.insert(ngram) { u64::from(self.frequency(ngram)) } else { 0 };
            }
            let value = raw as f64 * self.settings.discount(cut) / self.baseline;
            if value > best.0 {
                best = (value, cut as u32);
            }
        }
        best
    }

    fn paper_fluency(&self, marked: &[u32]) -> f64 {
        let lengths = self.settings.min_n..=self.settings.max_n;
        let sum: u64 = lengths.flat_map(|n| marked.windows(n)).map(|ngram| u64::from(self.frequency(ngram))).sum();
        self.floored_discount(marked.len() - 2) * (sum as f64 / self.answers as f64) / self.baseline
    }

    fn published_truthfulness(&self, response: &str) -> Cut {
        let settings = self.settings;
        let text: Vec<char> = format!("^{response}$").chars().take(settings.max_length + 2).collect();
        let codes: Vec<u32> = text.iter().copied().map(u32::from).collect();
        let (mut total, mut count, mut best, mut last) = (0.0, 0, (0.0, 0), (0.0, 0));
        for (at, character) in text.iter().enumerate() {
            if settings.skipped.contains(character) {
                continue;
            }
            let share = f64::from(self.covering(&codes, at)) / self.answers as f64;
            total += (share * (1.0 / settings.threshold)).min(1.0);
            count += 1;
            last = (total / f64::from(count) * settings.discount(at), at as u32);
            if at >= settings.target_length && last.0 > best.0 {
                best = last;
            }
        }
        if last.0 > best.0 { last } else { best }
    }

    /// The largest document frequency of the windows over index `at`.
    fn covering(&self, text: &[u32], at: usize) -> u32 {
        let n = self.settings.truthfulness_n;
        let over = text.windows(n).enumerate().filter(|&(start, _)| start <= at && at < start + n);
        over.map(|(_, window)| self.frequency(window)).max().unwrap_or(0)
    }

    fn paper_truthfulness(&self, response: &str) -> Cut {
        let settings = self.settings;
        let marked = as_counted(settings, response);
        let windows: Vec<u32> = marked.windows(settings.truthfulness_n).map(|window| self.frequency(window)).collect();
        let length = response.chars().count();
        let (mut total, mut count, mut best) = (0.0, 0, (0.0, 0));
        for (cut, character) in (1..).zip(response.chars()) {
            if !settings.skipped.contains(&character) {
                let near = windows.iter().skip(cut - 1).take(3).max();
                let share = f64::from(near.copied().unwrap_or(0)) / self.answers as f64;
                total += share.min(settings.threshold) / settings.threshold;
                count += 1;
            }
            let mean = if count == 0 { 0.0 } else { total / f64::from(count) };
            let value = self.floored_discount(cut) * mean;
            if cut >= settings.target_length.min(length) && value > best.0 {
                best = (value, cut as u32);
            }
        }
        best
    }

    fn frequency(&self, ngram: &[u32]) -> u32 {
        self.frequencies.get(ngram).copied().unwrap_or(0)
    }

    fn floored_discount(&self, length: usize) -> f64 {
        self.settings.discount(length).max(0.0)
    }
}

/// The text whose n-grams Fluency counts.
fn as_counted(settings: &Settings, text: &str) -> Vec<u32> {
    let characters = text.chars().map(u32::from);
    match settings.variant {
        Variant::PfgenBench => characters.collect(),
        Variant::Paper => std::iter::once(BEGIN).chain(characters).chain([END]).collect(),
    }
}

/// Helpfulness by `rules` over `literals`, then over patterns that end at `others`: every cut is tried.
pub fn helpfulness(settings: &Settings, literals: &[&str], others: &[u32], rules: &[Rule], response: &str) -> f64 {
    let text: Vec<char> = response.chars().take(settings.max_length).collect();
    let ends: Vec<u32> = literals.iter().map(|literal| end(&text, literal)).chain(others.iter().copied()).collect();
    let positions: Vec<u32> = rules.iter().map(|rule| position(&rule.steps, &ends)).collect();
    let rules = || rules.iter().map(|rule| rule.importance).zip(positions.iter().copied());
    let published = |cut: u32| {
        let missed = rules().filter(|&(_, position)| cut < position);
        missed.fold(settings.discount(cut as usize), |value, (importance, _)| value * (1.0 - importance))
    };
    let whole = rules().fold(0.0, |sum, (importance, _)| sum + importance);
    let paper = |cut: u32| {
        let met = rules().filter(|&(_, position)| position <= cut).fold(0.0, |sum, (importance, _)| sum + importance);
        settings.discount(cut as usize).max(0.0) * if whole == 0.0 { 1.0 } else { met / whole }
    };
    let length = text.len();
    let best = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
    match settings.variant {
        Variant::PfgenBench => best(&mut (0..=length.min(settings.zero_length) as u32).map(published)),
        Variant::Paper => best(&mut (settings.target_length.min(length) as u32..=length as u32).map(paper)),
    }
}

/// Characters before the end of the first match.
fn end(text: &[char], literal: &str) -> u32 {
    let literal: Vec<char> = literal.chars().collect();
    let mut starts = 0..(text.len() + 1).saturating_sub(literal.len());
    let start = starts.find(|&start| text[start..start + literal.len()] == literal[..]);
    start.map_or(NOT_FOUND, |start| (start + literal.len()) as u32)
}

fn position(steps: &[RuleStep], ends: &[u32]) -> u32 {
    let mut stack = Vec::new();
    for step in steps {
        let merged = match *step {
            RuleStep::Pattern(number) => Some(ends[number]),
            RuleStep::And(count) => stack.split_off(stack.len() - count).into_iter().max(),
            RuleStep::Or(count) => stack.split_off(stack.len() - count).into_iter().min(),
        };
        stack.extend(merged);
    }
    stack[0]
}

/// The scores of one response in the order of [`TOTALS`](super::TOTALS), then each source's share of Fluency and of
/// Truthfulness; rounded as text where the published scores are.
pub fn totals_and_shares(settings: &Settings, fluency: &[f64], truthfulness: &[f64], helpfulness: f64) -> Vec<f64> {
    let count = fluency.len() as f64;
    let round = |value: f64, decimals: usize| match settings.variant {
        Variant::PfgenBench => format!("{value:.decimals$}").parse().unwrap_or(f64::NAN),
        Variant::Paper => value,
    };
    let shares = |values: &[f64]| values.iter().map(|value| round(value / count, 6)).collect::<Vec<f64>>();
    let (fluency_shares, truthfulness_shares) = (shares(fluency), shares(truthfulness));
    let sum = |values: &[f64]| values.iter().fold(0.0, |sum, value| sum + value);
    let whole = |values: &[f64], shares: &[f64]| match settings.variant {
        Variant::PfgenBench => sum(shares),
        Variant::Paper => sum(values) / count,
    };
    let (f, t) = (whole(fluency, &fluency_shares), whole(truthfulness, &truthfulness_shares));
    let h = round(helpfulness, 5);
    let parts: &[f64] = if settings.helpfulness { &[f, t, h] } else { &[f, t] };
    let totals = [f, t, h, round(sum(parts) / parts.len() as f64, 5)];
    [&totals[..], &fluency_shares, &truthfulness_shares].concat()
}
