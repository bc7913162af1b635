//! People who are asked, and tools that ask them in the middle of a call. Such a tool acts once it was answered,
//! whatever the answer is; it knows its caller by the connection, which dies with the process.

use super::{Coming, Harness};
use crate::sim::dice::Dice;
use crate::sim::scenario::Person;
use onecall_engine::decide::Input;
use onecall_engine::event::{Answer, AnswerAction};
use onecall_engine::identity::CallId;
use serde_json::{Value, json};
use std::time::Duration;

/// What tells the questions of one call apart; these tools ask one.
const KEY: &str = "q";

impl Harness<'_> {
    /// A call goes out. Its tool answers it, or asks first.
    pub(super) fn send(&mut self, index: usize, call: CallId, key: String) {
        if !self.scenario.tools[call.step as usize].asks {
            return self.answer_call(index, call, &key);
        }
        self.owners[index].inquiring.insert(call, key);
        let numbers = [self.scenario.seed, call.step.into(), call.attempt.into(), 8];
        let after = Duration::from_millis(Dice::of(&numbers).below(3_000));
        let input = Input::CallAsks {
            call,
            key: KEY.to_owned(),
            request: request(),
        };
        self.bring(self.now.plus(after), Coming::To(index, input));
    }

    /// Tools that were answered go on; those whose call is over have nobody to go on for.
    pub(super) fn go_on(&mut self, index: usize) {
        let owner = &mut self.owners[index];
        let state = &owner.state;
        owner
            .inquiring
            .retain(|call, _| state.calls.contains_key(call));
        let answered = owner.inquiring.extract_if(.., |call, _| {
            let asking = state.asking.get(&call.slot());
            asking.is_some_and(|asking| asking.call == *call && !asking.is_open())
        });
        for (call, key) in answered.collect::<Vec<_>>() {
            self.answer_call(index, call, &key);
        }
    }

    fn answer_call(&mut self, index: usize, call: CallId, key: &str) {
        let noise = self.disturbance.noise;
        for sent in self.backend.call(self.scenario, call, key, noise) {
            let outcome = sent.outcome;
            let input = Input::Ended { call, outcome };
            self.bring(self.now.plus(sent.after), Coming::To(index, input));
        }
    }

    pub(super) fn ask(&mut self, step: u32, round: u32) {
        let people = &self.scenario.people[step as usize];
        let person = people.get(round as usize).or(people.last()).copied();
        let mut dice = Dice::of(&[self.scenario.seed, step.into(), round.into(), 7]);
        let answer = match person {
            None | Some(Person::Sleeps) => return,
            Some(Person::Answers(action)) => {
                let content = (action == AnswerAction::Accept).then(|| json!({ "value": true }));
                Answer {
                    action,
                    content,
                    defaulted: false,
                }
            }
            Some(Person::AnswersWrongly) => Answer {
                action: AnswerAction::Accept,
                content: Some(json!({ "value": "perhaps" })),
                defaulted: false,
            },
        };
        let times = if dice.chance(25) { 2 } else { 1 };
        let is_bound = self.scenario.is_timely || dice.chance(70);
        for _ in 0..times {
            let at = self.now.plus(Duration::from_millis(dice.below(6_000)));
            let input = Input::Answer {
                step,
                round: is_bound.then_some(round),
                answer: answer.clone(),
            };
            self.bring(at, Coming::ToCurrent(input));
        }
    }
}

fn request() -> Value {
    let schema = json!({
        "type": "object",
        "properties": { "value": { "type": "boolean" } },
        "required": ["value"],
    });
    json!({
        "method": "elicitation/create",
        "params": { "message": "which one?", "requestedSchema": schema },
    })
}
