//! `Rules`: Helpfulness of one question.

use crate::errors::bad_input;
use crate::settings::Settings;
use crate::text_column::{Text, Texts};
use pfgen_core::{Literals, Rule, RuleScratch, RuleStep};
use pyo3::prelude::*;
use std::sync::Arc;

/// Rules over the positions of patterns.
#[pyclass(frozen, module = "pfgen_rs._native")]
pub(crate) struct Rules {
    pub(crate) core: Arc<pfgen_core::Rules>,
}

#[pymethods]
impl Rules {
    /// Patterns are numbered: `literals` first, then `others`, whose ends the caller finds. A rule is its importance and its
    /// steps in reverse Polish order: `("t", number of the pattern)`, `("and", parts)` or `("or", parts)`.
    #[new]
    fn new(literals: &Texts, others: usize, rules: Vec<(f64, Vec<(String, usize)>)>) -> PyResult<Self> {
        let step = |(kind, number): (String, usize)| match &*kind {
            "t" => Ok(RuleStep::Pattern(number)),
            "and" => Ok(RuleStep::And(number)),
            "or" => Ok(RuleStep::Or(number)),
            _ => Err(bad_input(format!("unknown kind of rule {kind:?}; expected one of \"t\", \"and\", \"or\""))),
        };
        let rule = |(importance, steps): (f64, Vec<_>)| {
            Ok(Rule { steps: steps.into_iter().map(step).collect::<PyResult<_>>()?, importance })
        };
        let rules = rules.into_iter().map(rule).collect::<PyResult<_>>()?;
        match pfgen_core::Rules::new(Literals::new(literals.iter()), others, rules) {
            Some(core) => Ok(Self { core: Arc::new(core) }),
            None => Err(bad_input("the steps of a rule must leave one position".to_owned())),
        }
    }

    /// Ends of the literals in a response, as far as it is read; `NOT_FOUND` where there is none.
    fn ends(&self, settings: &Settings, text: Text) -> Vec<u32> {
        self.core.literal_ends(&settings.core, &text.0)
    }

    /// Unrounded Helpfulness of a response and the largest cut that attains it.
    fn score(&self, settings: &Settings, text: Text, others: Vec<u32>) -> PyResult<(f64, u32)> {
        self.check(&others)?;
        let length = text.0.chars().count();
        let helpful = self.core.score(&settings.core, &text.0, length, &others, &mut RuleScratch::default());
        Ok((helpful.value, helpful.cut))
    }
}

impl Rules {
    /// Whether there are as many ends as patterns that the rules do not search for.
    pub(crate) fn check(&self, others: &[u32]) -> PyResult<()> {
        if others.len() == self.core.others() {
            return Ok(());
        }
        Err(bad_input(format!("expected the ends of {} patterns, not of {}", self.core.others(), others.len())))
    }
}
