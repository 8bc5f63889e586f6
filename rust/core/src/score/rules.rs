//! Helpfulness: rules over the positions of keywords, and the cut at which they are met best.

use super::keywords::{Literals, NOT_FOUND};
use super::settings::{Settings, Variant};

/// One step of a rule in reverse Polish order: the position of a pattern, or of the last `n` positions together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleStep {
    /// End of the first match of the pattern with this number.
    Pattern(usize),
    /// All of the last this many: the largest position.
    And(usize),
    /// Any of the last this many: the smallest position.
    Or(usize),
}

/// A rule and its weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its steps, the last of which leaves one position.
    pub steps: Vec<RuleStep>,
    /// 0…1; what a response that misses the rule loses.
    pub importance: f64,
}

/// Unrounded Helpfulness of a response, and the largest cut that attains it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Helpful {
    /// Its value.
    pub value: f64,
    /// Length of the cut in characters.
    pub cut: u32,
}

/// The rules of one question. Patterns are numbered: literals first, then those that the caller searches for.
#[derive(Debug)]
pub struct Rules {
    literals: Literals,
    others: usize,
    list: Vec<Rule>,
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct RuleScratch {
    ends: Vec<u32>,
    stack: Vec<u32>,
    positions: Vec<u32>,
    factors: Vec<f64>,
}

impl Rules {
    /// Rules over `literals` and `others` further patterns; `None` if a rule's steps do not leave one position.
    pub fn new(literals: Literals, others: usize, rules: Vec<Rule>) -> Option<Self> {
        let patterns = literals.len() + others;
        rules.iter().all(|rule| leaves_one(&rule.steps, patterns)).then_some(Self { literals, others, list: rules })
    }

    /// Number of patterns that the caller searches for.
    pub fn others(&self) -> usize {
        self.others
    }

    /// Ends of the literals in a response.
    pub fn literal_ends(&self, settings: &Settings, response: &str) -> Vec<u32> {
        let mut ends = vec![NOT_FOUND; self.literals.len()];
        self.literals.ends_into(response, settings.max_length, &mut ends);
        ends
    }

    /// Helpfulness of a response of `length` characters; `others` are the ends of the patterns that are not literals.
    pub fn score(
        &self,
        settings: &Settings,
        response: &str,
        length: usize,
        others: &[u32],
        scratch: &mut RuleScratch,
    ) -> Helpful {
        scratch.ends.clear();
        scratch.ends.resize(self.literals.len(), NOT_FOUND);
        self.literals.ends_into(response, settings.max_length, &mut scratch.ends);
        scratch.ends.extend_from_slice(others);
        scratch.positions.clear();
        for rule in &self.list {
            let position = position(&rule.steps, &scratch.ends, &mut scratch.stack);
            scratch.positions.push(position);
        }
        let read = length.min(settings.max_length) as u32;
        match settings.variant {
            Variant::PfgenBench => self.published(settings, read, scratch),
            Variant::Paper => self.paper(settings, read, scratch),
        }
    }

    /// Best of the cuts that can be best: the target length, the end, and each rule's position. Between those the product
    /// of missed rules stays and the discount only falls.
    fn published(&self, settings: &Settings, read: u32, scratch: &mut RuleScratch) -> Helpful {
        let last = read.min(settings.zero_length as u32);
        let first = last.min(settings.target_length as u32);
        let mut best = Helpful { value: -1.0, cut: 0 };
        let RuleScratch { positions, factors, .. } = scratch;
        factors.clear();
        factors.extend(self.list.iter().map(|rule| 1.0 - rule.importance));
        let within = positions.iter().copied().filter(|&position| first < position && position < last);
        for cut in [first, last].into_iter().chain(within) {
            let missed = positions.iter().zip(&*factors).filter(|(position, _)| cut < **position);
            let value = missed.fold(settings.discount(cut as usize), |value, (_, factor)| value * factor);
            if value > best.value || (value == best.value && cut > best.cut) {
                best = Helpful { value, cut };
            }
        }
        best
    }

    /// Share of the rules met, weighted by importance; past the target length the best discounted cut.
    fn paper(&self, settings: &Settings, read: u32, scratch: &RuleScratch) -> Helpful {
        let last = read.min(settings.zero_length as u32);
        let first = last.min(settings.target_length as u32);
        let whole = self.list.iter().fold(0.0, |sum, rule| sum + rule.importance);
        let mut best = Helpful { value: -1.0, cut: 0 };
        let within = scratch.positions.iter().copied().filter(|&position| first < position && position <= last);
        for cut in std::iter::once(first).chain(within) {
            let met = self.list.iter().zip(&scratch.positions).filter(|(_, position)| **position <= cut);
            let met = met.fold(0.0, |sum, (rule, _)| sum + rule.importance);
            let share = if whole == 0.0 { 1.0 } else { met / whole };
            let value = settings.discount(cut as usize).max(0.0) * share;
            if value > best.value {
                best = Helpful { value, cut };
            }
        }
        best
    }
}

fn position(steps: &[RuleStep], ends: &[u32], stack: &mut Vec<u32>) -> u32 {
    stack.clear();
    for step in steps {
        let merged = match *step {
            RuleStep::Pattern(number) => ends[number],
            RuleStep::And(count) => stack.drain(stack.len() - count..).max().unwrap_or(NOT_FOUND),
            RuleStep::Or(count) => stack.drain(stack.len() - count..).min().unwrap_or(NOT_FOUND),
        };
        stack.push(merged);
    }
    stack.last().copied().unwrap_or(NOT_FOUND)
}

fn leaves_one(steps: &[RuleStep], patterns: usize) -> bool {
    let mut depth = 0usize;
    for step in steps {
        depth = match *step {
            RuleStep::Pattern(number) if number < patterns => depth + 1,
            RuleStep::And(count) | RuleStep::Or(count) if (1..=depth).contains(&count) => depth - count + 1,
            _ => return false,
        };
    }
    depth == 1
}
