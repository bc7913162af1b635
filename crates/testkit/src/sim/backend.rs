//! A model of the tools: which effects they applied, under which keys, and what they answer.
//! A tool that may be called again knows its keys; every other applies its effect each time it is called.

use super::dice::Dice;
use super::scenario::{FailureKind, Scenario};
use onecall_engine::event::{Lost, Outcome};
use onecall_engine::failure::{Code, Failure};
use onecall_engine::identity::{CallId, Slot};
use onecall_workflow::plan::Repeatable;
use onecall_workflow::step::Action;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Backend {
    slots: BTreeMap<Slot, SlotLedger>,
}

/// What happened at one slot of one run.
#[derive(Debug, Default)]
pub(super) struct SlotLedger {
    /// Keys in the order they were first seen.
    keys: Vec<String>,
    /// Keys under which the effect was applied.
    pub(super) applied: Vec<String>,
    lost: u32,
    /// An answer was lost, and none has come since.
    is_unsettled: bool,
    /// Calls that did not get here after that.
    unsent: u32,
}

/// An answer on its way.
pub(super) struct Sent {
    pub(super) after: Duration,
    pub(super) outcome: Outcome,
}

/// Less than the engine puts up with.
const UNSENT_MAX: u32 = 3;

impl Backend {
    pub(super) fn ledger(&self) -> &BTreeMap<Slot, SlotLedger> {
        &self.slots
    }

    /// The result a person would read off the ledger: that of the effect, if there was one.
    pub(super) fn look(&self, slot: Slot) -> Option<Value> {
        let ledger = self.slots.get(&slot)?;
        (!ledger.applied.is_empty()).then(|| result(slot))
    }

    /// A call arrives. Its answers follow later, or never.
    pub(super) fn call(
        &mut self,
        scenario: &Scenario,
        call: CallId,
        key: &str,
        noise: Option<u64>,
    ) -> Vec<Sent> {
        let slot = call.slot();
        let item = slot.item.map_or(99, u64::from);
        let numbers = [scenario.seed, slot.step.into(), item, call.attempt.into()];
        let mut dice = Dice::of(&numbers);
        let model = &scenario.tools[slot.step as usize];
        let after = Duration::from_millis(dice.below(model.latency_ms_max));
        let mut noisy = noise.map(|noise| Dice::of(&[noise, dice.next()]));
        let ledger = self.slots.entry(slot).or_default();
        if let Some(noisy) = &mut noisy
            && may_lose(scenario, slot, ledger)
            && noisy.chance(15)
        {
            ledger.lost += 1;
            ledger.is_unsettled = true;
            if noisy.chance(50) {
                receive(scenario, slot, key, ledger);
            }
            let reason = "connection reset".to_owned();
            let outcome = Outcome::Unknown(Lost::Connection { reason });
            return vec![Sent { after, outcome }];
        }
        if let Some(noisy) = &mut noisy
            && ledger.is_unsettled
            && ledger.unsent < UNSENT_MAX
            && noisy.chance(40)
        {
            // The backend is away for a while, after it may have acted.
            ledger.unsent += 1;
            let outcome = failed(FailureKind::Unavailable);
            return vec![Sent { after, outcome }];
        }
        ledger.is_unsettled = false;
        let outcome = receive(scenario, slot, key, ledger);
        if model.silence > 0 && dice.below(model.silence) == 0 {
            return Vec::new();
        }
        let mut sent = vec![Sent {
            after,
            outcome: outcome.clone(),
        }];
        if let Some(noisy) = &mut noisy
            && noisy.chance(20)
        {
            let after = after + Duration::from_millis(noisy.below(8_000));
            sent.push(Sent { after, outcome });
        }
        sent
    }
}

/// In a timely run an answer may get lost only where the semantics promise that it does not matter.
fn may_lose(scenario: &Scenario, slot: Slot, ledger: &SlotLedger) -> bool {
    let own = governing(scenario, slot);
    !scenario.is_timely || (own.on_error.retry.is_none() && ledger.lost < 2)
}

fn governing(scenario: &Scenario, slot: Slot) -> &onecall_workflow::step::Step {
    let step = scenario.plan.step(slot.step as usize);
    match &step.action {
        Action::Each(each) => &each.body,
        Action::Call(_) | Action::Ask(_) => step,
    }
}

/// Whether the engine may repeat a call of this slot without asking anybody.
pub(super) fn is_keyed(scenario: &Scenario, slot: Slot) -> bool {
    let own = governing(scenario, slot);
    let tool = scenario.plan.tool(slot.step as usize);
    own.call().is_some_and(|call| call.idempotent)
        || own.on_error.retry.is_some()
        || tool.is_some_and(|tool| tool.repeatable != Repeatable::No)
}

fn receive(scenario: &Scenario, slot: Slot, key: &str, ledger: &mut SlotLedger) -> Outcome {
    let known = ledger.keys.iter().position(|own| own == key);
    let turn = known.unwrap_or_else(|| {
        ledger.keys.push(key.to_owned());
        ledger.keys.len() - 1
    });
    let model = &scenario.tools[slot.step as usize];
    let fails = match slot.item {
        None => model.fails,
        Some(item) => (model.fails + u64::from(item)) % (model.fails + 1),
    };
    if (turn as u64) < fails {
        return failed(model.failure);
    }
    let is_repeated = ledger.applied.iter().any(|own| own == key);
    if !is_repeated || !is_keyed(scenario, slot) {
        ledger.applied.push(key.to_owned());
    }
    Outcome::Returned(Arc::new(result(slot)))
}

fn result(slot: Slot) -> Value {
    let value = 10 * slot.step + slot.item.unwrap_or(0);
    json!({
        "content": [{ "type": "text", "text": value.to_string() }],
        "structuredContent": { "value": value },
        "_meta": { "dev.onecall/usage": { "cost_usd": 0.1, "tokens": 10 + slot.step } },
    })
}

fn failed(kind: FailureKind) -> Outcome {
    let code = match kind {
        FailureKind::IsError => {
            return Outcome::Returned(Arc::new(json!({
                "content": [{ "type": "text", "text": "no" }],
                "isError": true,
            })));
        }
        FailureKind::Unavailable => Code::TransportUnavailable,
        FailureKind::Denied => Code::DeniedCall,
        FailureKind::Arguments => Code::ToolArguments,
    };
    Outcome::Failed {
        failure: Failure::new(code, "no"),
        result: None,
    }
}
