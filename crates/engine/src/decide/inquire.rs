//! Questions of backends: a tool that asks before it goes on, or in the middle of its call. They become
//! questions of the run, one at a time for each step, and what is answered goes back to the tool.

use super::Decider;
use crate::event::{Answer, AnswerAction, What};
use crate::failure::{Code, Failure};
use crate::identity::{CallId, Slot};
use crate::inquiry::{AskedBy, Inquiry, Way, shown};
use crate::limits::{ANSWERS_REFUSED_MAX, INQUIRIES_MAX};
use crate::state::OpenQuestion;
use serde_json::Value;
use std::sync::Arc;

impl Decider<'_> {
    /// An attempt ended with questions in place of a result.
    pub(super) fn inquired(&mut self, slot: Slot, inquiry: &Inquiry) {
        let asked = self.state.work(slot).map_or(0, |work| work.asked);
        let unfit = inquiry.requests.values().find_map(|one| shown(one).err());
        let unfit = unfit.or_else(|| {
            (asked > INQUIRIES_MAX)
                .then(|| format!("the tool asked more than {INQUIRIES_MAX} times in one step"))
        });
        if let Some(reason) = unfit {
            let failure = Failure::new(Code::ToolProtocol, reason);
            return self.attempt_failed(slot, failure);
        }
        if inquiry.requests.is_empty() {
            return self.repeat_answered(slot);
        }
        self.ask_next(slot.step);
    }

    /// A question arrived while its call is in flight. What nobody can answer is not taken.
    pub(super) fn call_asks(&mut self, call: CallId, key: String, request: Value) {
        let is_open = self.state.calls.contains_key(&call);
        let count = self
            .state
            .asking
            .get(&call.slot())
            .map_or(0, |asking| asking.inquiry.requests.len());
        if !is_open || count >= INQUIRIES_MAX as usize || shown(&request).is_err() {
            return;
        }
        let request = Arc::new(request);
        self.emit(What::CallAsked { call, key, request });
        self.ask_next(call.step);
    }

    /// Puts the next question of a step's backend, unless one is open.
    pub(super) fn ask_next(&mut self, step: u32) {
        if self.state.end.is_some() || self.state.questions.contains_key(&step) {
            return;
        }
        let of_step = self.state.asking.range(Slot::of_step(step)..);
        let next = of_step
            .take_while(|(slot, _)| slot.step == step)
            .find_map(|(slot, asking)| Some((*slot, asking.next()?)));
        let Some((slot, (key, request))) = next else {
            return;
        };
        let Ok(shown) = shown(request) else { return };
        let by = AskedBy {
            item: slot.item,
            key: key.to_owned(),
        };
        let (message, url) = (shown.message.to_owned(), shown.url.map(str::to_owned));
        let schema = shown.schema.cloned().map(Arc::new);
        let plan = Arc::clone(&self.state.plan);
        let timeout = Self::governing(&plan, slot).timeout;
        self.emit(What::QuestionAsked {
            step,
            round: self.state.step(step).questions_put,
            message,
            schema,
            deadline: self.question_deadline(timeout),
            by: Some(by),
            url,
        });
    }

    /// An answer to a backend's question. A refusal is an answer too: what it means is the tool's business.
    pub(super) fn inquiry_answered(
        &mut self,
        step: u32,
        question: &OpenQuestion,
        by: &AskedBy,
        answer: Answer,
    ) {
        let mut answer = answer;
        if matches!(answer.action, AnswerAction::Accept | AnswerAction::Invalid) {
            let schema = question.schema.as_deref();
            let fitted = match answer.problem() {
                Some(reason) => Err(reason),
                None => self.evaluator.answer(schema, answer.content.clone()),
            };
            match fitted {
                Ok(content) => {
                    let sent = onecall_mcp::answer("accept", content.filter(|_| schema.is_some()));
                    return self.give_back(step, question, by, answer, sent);
                }
                Err(reason) => {
                    let round = question.round;
                    self.emit(What::AnswerRefused {
                        step,
                        round,
                        reason,
                    });
                }
            }
            if self.state.step(step).answers_refused <= ANSWERS_REFUSED_MAX {
                return self.put_again(step, question.clone());
            }
            answer.action = AnswerAction::Cancel;
        }
        answer.content = None;
        let sent = onecall_mcp::answer(answer.action.as_str(), None);
        self.give_back(step, question, by, answer, sent);
    }

    fn give_back(
        &mut self,
        step: u32,
        question: &OpenQuestion,
        by: &AskedBy,
        answer: Answer,
        sent: Value,
    ) {
        let slot = Slot {
            step,
            item: by.item,
        };
        let action = answer.action;
        self.emit(What::QuestionAnswered {
            step,
            round: question.round,
            answer,
            sent: Some(Arc::new(sent)),
        });
        let (way, is_open) = match self.state.asking.get(&slot) {
            Some(asking) => (asking.inquiry.way, asking.is_open()),
            None => return,
        };
        match (way, action) {
            (Way::Consent, AnswerAction::Decline) => {
                let failure = Failure::new(Code::DeclinedQuestion, "the question was declined");
                self.slot_failed(slot, failure);
            }
            (Way::Consent, AnswerAction::Cancel | AnswerAction::Timeout) => {
                let failure = Failure::new(Code::CancelledQuestion, "the question was cancelled");
                self.slot_failed(slot, failure);
            }
            (Way::Repeated | Way::Consent, _) if !is_open => self.repeat_answered(slot),
            (Way::Repeated | Way::Consent | Way::Live, _) => {}
        }
        self.ask_next(step);
    }

    /// Nobody answered in time.
    pub(super) fn inquiry_timed_out(&mut self, step: u32, by: &AskedBy) {
        let slot = Slot {
            step,
            item: by.item,
        };
        self.lose_calls(|call| call.slot() == slot);
        let message = "the question of the tool was not answered in time";
        self.slot_failed(slot, Failure::new(Code::TimeoutQuestion, message));
        self.ask_next(step);
    }
}
