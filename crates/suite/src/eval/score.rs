//! From judgements to the verdict of a metric.

use super::ask::{Asker, Juror, Unjudged};
use super::{Criterion, Metric, Rubric, Test, Tree, When, prompt};
use crate::row::{Eval, Judged};
use serde_json::Value;

/// What one juror makes of a metric.
struct Scored {
    score: f64,
    passes: bool,
    reason: String,
}

/// The share of a jury, by weight, that must let a metric pass.
const QUORUM: f64 = 0.5;

pub(super) async fn metric(metric: &Metric, candidate: &Value, asker: &Asker<'_>) -> Eval {
    let mut eval = Eval {
        metric: metric.name.clone(),
        verdict: Judged::Deferred,
        score: None,
        threshold: Some(metric.threshold),
        reason: None,
    };
    let jurors = match &asker.jurors {
        Ok(jurors) => jurors,
        Err(reason) => {
            eval.reason = Some(reason.clone());
            return eval;
        }
    };
    let line = prompt::line(candidate);
    let (mut weight, mut passed, mut score) = (0.0, 0.0, 0.0);
    let mut reasons = Vec::new();
    for juror in jurors {
        let scored = by_one(metric, juror, &line, asker).await;
        let name = |reason: String| match jurors.len() {
            1 => reason,
            _ => format!("{}: {reason}", juror.model),
        };
        weight += juror.weight;
        match scored {
            Ok(scored) => {
                score += juror.weight * scored.score;
                passed += if scored.passes { juror.weight } else { 0.0 };
                reasons.push(name(scored.reason));
            }
            Err(Unjudged::Unusable(reason)) => reasons.push(name(format!("unusable: {reason}"))),
            Err(Unjudged::Deferred(reason)) => {
                eval.reason = Some(reason);
                return eval;
            }
        }
    }
    let is_pass = weight > 0.0 && passed / weight >= QUORUM && passed > 0.0;
    eval.verdict = if is_pass { Judged::Pass } else { Judged::Fail };
    eval.score = (weight > 0.0).then(|| score / weight);
    eval.reason = Some(reasons.join("; "));
    eval
}

async fn by_one(
    metric: &Metric,
    juror: &Juror,
    line: &str,
    asker: &Asker<'_>,
) -> Result<Scored, Unjudged> {
    match &metric.test {
        Test::Question(question) => {
            let judgement = asker.ask(juror, question, line).await?;
            Ok(Scored {
                score: judgement.score,
                passes: judgement.score >= metric.threshold,
                reason: judgement.reason,
            })
        }
        Test::Criteria(rubric) => by_criteria(metric, rubric, juror, line, asker).await,
        Test::Tree(tree) => by_tree(metric, tree, juror, line, asker).await,
    }
}

async fn by_criteria(
    metric: &Metric,
    rubric: &Rubric,
    juror: &Juror,
    line: &str,
    asker: &Asker<'_>,
) -> Result<Scored, Unjudged> {
    let mut scores = Vec::new();
    let mut reasons = Vec::new();
    let mut gate_holds = true;
    let applying = rubric.criteria.iter().filter(|own| own.applies(line));
    for criterion in applying {
        let judgement = asker.ask(juror, &criterion.question(), line).await?;
        let raw = judgement.score;
        let score = if criterion.guard { 1.0 - raw } else { raw };
        let threshold = criterion.threshold.unwrap_or(metric.threshold);
        let is_guarded = criterion.guard && raw >= 0.5;
        let is_below = criterion.required && score < threshold;
        let is_met = !is_guarded && !is_below;
        gate_holds &= is_met;
        scores.push((criterion.weight, score));
        let gate = if is_met { "" } else { " (required)" };
        let name = &criterion.name;
        reasons.push(format!("{name} {score:.2}{gate}: {}", judgement.reason));
    }
    let score = aggregate(&scores, rubric.takes_minimum);
    Ok(Scored {
        score,
        passes: gate_holds && score >= metric.threshold,
        reason: reasons.join("; "),
    })
}

/// 1 if nothing applied.
fn aggregate(scores: &[(f64, f64)], takes_minimum: bool) -> f64 {
    let values = scores.iter().map(|(_, score)| *score);
    if takes_minimum {
        return values.fold(1.0, f64::min);
    }
    let weight: f64 = scores.iter().map(|(weight, _)| weight).sum();
    if weight <= 0.0 {
        return 1.0;
    }
    let sum: f64 = scores.iter().map(|(weight, score)| weight * score).sum();
    sum / weight
}

/// Follows the answers to a leaf; the path is the explanation.
async fn by_tree(
    metric: &Metric,
    tree: &Tree,
    juror: &Juror,
    line: &str,
    asker: &Asker<'_>,
) -> Result<Scored, Unjudged> {
    let mut at = tree;
    let mut path = Vec::new();
    loop {
        match at {
            Tree::Leaf { score, reason } => {
                path.extend(reason.clone());
                return Ok(Scored {
                    score: *score,
                    passes: *score >= metric.threshold,
                    reason: path.join("; "),
                });
            }
            Tree::Ask { question, yes, no } => {
                let asked = format!("{question} Score 1 for yes, 0 for no.");
                let judgement = asker.ask(juror, &asked, line).await?;
                let is_yes = judgement.score >= 0.5;
                path.push(format!("{question} {}", if is_yes { "yes" } else { "no" }));
                at = if is_yes { yes } else { no };
            }
        }
    }
}

impl Criterion {
    fn applies(&self, line: &str) -> bool {
        match &self.when {
            None => true,
            Some(When::Contains(text)) => line.contains(text.as_str()),
            Some(When::Regex(pattern)) => pattern.is_match(line),
        }
    }

    fn question(&self) -> String {
        let name = &self.name;
        let description = self.description.as_deref();
        match description {
            Some(description) => format!("To what degree does this hold? {name}: {description}"),
            None => format!("To what degree does this hold? {name}"),
        }
    }
}
