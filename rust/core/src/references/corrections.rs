//! A style as rules over text: corrections, applied until nothing changes, and rejections.

use crate::error::{Error, Result};
use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder, SetMatches};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// Rounds of corrections after which a text counts as unstable.
const ROUNDS: usize = 8;
/// A corrected text of more than this many times the original's bytes, plus this many, is unstable, too: its rules feed
/// themselves.
const GROWTH: (usize, usize) = (4, 1024);
/// Bytes of one compiled pattern. Counted repetitions of large classes reach it; usual rules stay far below.
const PATTERN_LIMIT: usize = 1 << 20;
/// Bytes of lazily built states of all patterns together; with fewer they would be rebuilt again and again.
const STATES_LIMIT: usize = 1 << 24;

/// What a rule does with a text in which its pattern is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Replaces every match by this text, in which `${1}` or `${name}` stands for a group and `$$` for `$`.
    Correct(String),
    /// The pattern is a list of characters, not an expression: each becomes the character at its place in this text.
    Translate(String),
    /// Rejects the text.
    Reject,
    /// Rejects the text where the pattern is *not* found.
    Require,
    /// The pattern is what closes a sentence, not an expression: rejects a text with two equal sentences.
    Repeats,
}

/// A rule; expressions have the syntax of the crate `regex`, which matches in time linear in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorrectionRule {
    /// Its name in errors.
    pub name: String,
    /// What is looked for.
    pub pattern: String,
    /// What happens then.
    pub action: Action,
}

/// A text after all corrections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrected<'a> {
    /// The text; the original if it is unstable.
    pub text: Cow<'a, str>,
    /// The first rule that rejects it; the number of rules if it is unstable.
    pub rejected_by: Option<usize>,
    /// The corrections that changed it, ascending.
    pub changed: Vec<usize>,
}

/// Rules ready for use. One automaton says which of them concern a text; most texts are read once by it and are done.
///
/// A round applies the corrections whose patterns are found at its beginning, in the order of the rules. Rounds follow each
/// other until one changes nothing, so correcting a corrected text changes nothing. Rejections look at the final text.
/// Time: `O(text)` a round and rule that concerns it, whatever the expressions.
#[derive(Debug)]
pub struct Corrections {
    found: RegexSet,
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Correct(Regex, String),
    Translate(FxHashMap<char, char>),
    Reject,
    Require,
    Repeats(String),
}

impl Corrections {
    /// Prepares rules.
    ///
    /// # Errors
    /// [`Error::InvalidRule`] for an expression that is invalid or too large, a replacement that names an unknown
    /// group, and translations of unequal length.
    pub fn new(rules: &[CorrectionRule]) -> Result<Self> {
        let steps = rules.iter().map(Step::new).collect::<Result<_>>()?;
        let found = RegexSetBuilder::new(rules.iter().map(expression))
            .size_limit(PATTERN_LIMIT * (rules.len() + 1))
            .dfa_size_limit(STATES_LIMIT)
            .build()
            .map_err(|error| invalid("all rules together", &reason(&error)))?;
        Ok(Self { found, steps })
    }

    /// Corrects a text and judges the result.
    pub fn apply<'a>(&self, text: &'a str) -> Corrected<'a> {
        let (mut now, mut changed) = (Cow::Borrowed(text), Vec::new());
        for _ in 0..ROUNDS {
            let found = self.found.matches(&now);
            match self.round(&now, &found, &mut changed) {
                None => {
                    changed.sort_unstable();
                    changed.dedup();
                    return Corrected { rejected_by: self.rejecting(&now, &found), text: now, changed };
                }
                Some(next) if next.len() > GROWTH.0 * text.len() + GROWTH.1 => break,
                Some(next) => now = Cow::Owned(next),
            }
        }
        Corrected { text: Cow::Borrowed(text), rejected_by: Some(self.steps.len()), changed: Vec::new() }
    }

    /// The first rule that rejects a text as it is.
    pub fn judge(&self, text: &str) -> Option<usize> {
        self.rejecting(text, &self.found.matches(text))
    }

    /// The text after one round; `None` where nothing changes.
    fn round(&self, text: &str, found: &SetMatches, changed: &mut Vec<usize>) -> Option<String> {
        let before = changed.len();
        let mut now = Cow::Borrowed(text);
        for rule in found {
            if let Some(next) = self.steps[rule].corrected(&now) {
                changed.push(rule);
                now = Cow::Owned(next);
            }
        }
        if now == text {
            // Rules that undo each other within a round changed nothing.
            changed.truncate(before);
            return None;
        }
        Some(now.into_owned())
    }

    fn rejecting(&self, text: &str, found: &SetMatches) -> Option<usize> {
        (0..self.steps.len()).find(|&rule| match &self.steps[rule] {
            Step::Correct(..) | Step::Translate(_) => false,
            Step::Reject => found.matched(rule),
            Step::Require => !found.matched(rule),
            Step::Repeats(close) => found.matched(rule) && repeats(text, close),
        })
    }
}

impl Step {
    fn new(rule: &CorrectionRule) -> Result<Self> {
        let compiled = compile(rule)?;
        Ok(match &rule.action {
            Action::Correct(by) => Self::Correct(known_groups(rule, compiled, by)?, by.clone()),
            Action::Translate(by) => Self::Translate(translation(rule, by)?),
            Action::Reject => Self::Reject,
            Action::Require => Self::Require,
            Action::Repeats if rule.pattern.is_empty() => {
                return Err(invalid(&rule.name, "the end of a sentence must not be empty"));
            }
            Action::Repeats => Self::Repeats(rule.pattern.clone()),
        })
    }

    /// The text where this rule changes it.
    fn corrected(&self, text: &str) -> Option<String> {
        let next = match self {
            Self::Correct(pattern, by) => pattern.replace_all(text, by),
            Self::Translate(of) => Cow::Owned(text.chars().map(|c| *of.get(&c).unwrap_or(&c)).collect()),
            Self::Reject | Self::Require | Self::Repeats(_) => return None,
        };
        (next != text).then(|| next.into_owned())
    }
}

/// The expression that finds the texts a rule concerns.
fn expression(rule: &CorrectionRule) -> String {
    match rule.action {
        Action::Correct(_) | Action::Reject | Action::Require => rule.pattern.clone(),
        Action::Repeats => regex::escape(&rule.pattern),
        Action::Translate(_) => {
            let one_of: Vec<String> = rule.pattern.chars().map(|c| regex::escape(c.encode_utf8(&mut [0; 4]))).collect();
            one_of.join("|")
        }
    }
}

fn compile(rule: &CorrectionRule) -> Result<Regex> {
    let built = RegexBuilder::new(&expression(rule)).size_limit(PATTERN_LIMIT).build();
    built.map_err(|error| invalid(&rule.name, &reason(&error)))
}

/// Returns the expression if it has every group that `by` names: others would vanish silently.
fn known_groups(rule: &CorrectionRule, pattern: Regex, by: &str) -> Result<Regex> {
    let mut rest = by;
    while let Some(start) = rest.find('$') {
        rest = &rest[start + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
            continue;
        }
        let group = rest.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let Some((group, after)) = group else {
            return Err(invalid(
                &rule.name,
                &format!("a lone $ in {by:?}: write ${{1}} for a group, $$ for a literal $"),
            ));
        };
        let known = match group.parse::<usize>() {
            Ok(number) => number < pattern.captures_len(),
            Err(_) => pattern.capture_names().flatten().any(|name| name == group),
        };
        if !known {
            return Err(invalid(&rule.name, &format!("${{{group}}} is not a group of {:?}", rule.pattern)));
        }
        rest = after;
    }
    Ok(pattern)
}

fn translation(rule: &CorrectionRule, by: &str) -> Result<FxHashMap<char, char>> {
    let (from, to) = (rule.pattern.chars().count(), by.chars().count());
    let of: FxHashMap<char, char> = rule.pattern.chars().zip(by.chars()).collect();
    if from == 0 || from != to || of.len() != from {
        let reason = format!(
            "cannot translate {from} characters ({} distinct) to {to}: expected distinct characters, and as many",
            of.len()
        );
        return Err(invalid(&rule.name, &reason));
    }
    Ok(of)
}

/// Whether two of the sentences that `close` ends are equal.
fn repeats(text: &str, close: &str) -> bool {
    let mut seen = FxHashSet::default();
    text.split_inclusive(close).any(|sentence| !seen.insert(sentence))
}

fn invalid(rule: &str, reason: &str) -> Error {
    Error::InvalidRule { rule: rule.to_owned(), reason: reason.to_owned() }
}

/// What is wrong with an expression, in one line: the last one of the crate's message.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => {
            format!(
                "the pattern is too large: more than {limit} bytes when compiled; use fewer repetitions or smaller classes"
            )
        }
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            format!("invalid regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
        }
    }
}
