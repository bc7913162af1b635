//! Questions: putting one, and what an answer, a refusal or silence means.

use super::Decider;
use crate::event::{Answer, AnswerAction, Output, What};
use crate::failure::{Code, Failure};
use crate::identity::{Slot, Timestamp};
use crate::limits::ANSWERS_REFUSED_MAX;
use crate::state::OpenQuestion;
use onecall_workflow::policy::Refusal;
use onecall_workflow::step::{Action, Ask, Shape};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

impl Decider<'_> {
    pub(super) fn put_question(&mut self, step: u32, ask: &Ask) {
        let slot = Slot::of_step(step);
        match self.evaluator.message(&ask.message, &self.view(slot)) {
            Err(failure) => self.slot_failed(slot, failure),
            Ok(message) => {
                let timeout = self.state.plan.step(step as usize).timeout;
                let deadline = self.question_deadline(timeout);
                let schema = ask.schema.clone().map(Arc::new);
                self.emit(What::QuestionAsked {
                    step,
                    round: 0,
                    message,
                    schema,
                    deadline,
                    by: None,
                    url: None,
                });
            }
        }
    }

    /// Until when a question can be answered that is asked now. `timeout`: that of its step.
    pub(super) fn question_deadline(&self, timeout: Option<Duration>) -> Option<Timestamp> {
        let timeout = timeout.or(self.evaluator.limits().question);
        timeout.map(|timeout| self.now.plus(timeout))
    }

    pub(super) fn answered(&mut self, step: u32, round: Option<u32>, answer: Answer) {
        let plan = Arc::clone(&self.state.plan);
        let Some(question) = self.state.questions.get(&step) else {
            let text = format!(
                "an answer to step `{}` arrived late",
                self.state.step_name(step)
            );
            return self.emit(What::Note { text });
        };
        if round.is_some_and(|round| round != question.round) {
            let text = format!(
                "an answer to an earlier question of step `{}` arrived late",
                self.state.step_name(step)
            );
            return self.emit(What::Note { text });
        }
        if let Some(by) = question.by.clone() {
            let question = question.clone();
            return self.inquiry_answered(step, &question, &by, answer);
        }
        let round = question.round;
        let Action::Ask(ask) = &plan.step(step as usize).action else {
            return;
        };
        if let Some(reason) = answer.problem() {
            return self.answer_refused(step, round, ask, reason);
        }
        if answer.action != AnswerAction::Accept {
            return self.refused(step, round, ask, answer.action);
        }
        match self
            .evaluator
            .answer(ask.schema.as_ref(), answer.content.clone())
        {
            Ok(content) => {
                self.emit(What::QuestionAnswered {
                    step,
                    round,
                    answer,
                    sent: None,
                });
                let shown = match content {
                    Some(content) if ask.bare => content.get("value").cloned(),
                    content => content,
                };
                let output = output_of(ask, AnswerAction::Accept, shown);
                self.step_completed(step, output);
            }
            Err(reason) => self.answer_refused(step, round, ask, reason),
        }
    }

    /// A wrong answer is asked again a few times, then counts as cancel.
    fn answer_refused(&mut self, step: u32, round: u32, ask: &Ask, reason: String) {
        self.emit(What::AnswerRefused {
            step,
            round,
            reason,
        });
        if self.state.step(step).answers_refused > ANSWERS_REFUSED_MAX {
            return self.refused(step, round, ask, AnswerAction::Cancel);
        }
        if let Some(question) = self.state.questions.get(&step).cloned() {
            self.put_again(step, question);
        }
    }

    pub(super) fn put_again(&mut self, step: u32, question: OpenQuestion) {
        self.emit(What::QuestionAsked {
            step,
            round: question.round + 1,
            message: question.message,
            schema: question.schema,
            deadline: question.deadline,
            by: question.by,
            url: question.url,
        });
    }

    /// Nobody answered in time.
    pub(super) fn question_timed_out(&mut self, step: u32) {
        let open = self.state.questions.get(&step);
        if let Some(by) = open.and_then(|question| question.by.clone()) {
            return self.inquiry_timed_out(step, &by);
        }
        let plan = Arc::clone(&self.state.plan);
        let Action::Ask(ask) = &plan.step(step as usize).action else {
            return;
        };
        let round = self
            .state
            .questions
            .get(&step)
            .map_or(0, |question| question.round);
        let Some(default) = &ask.default_response else {
            return self.refused(step, round, ask, AnswerAction::Timeout);
        };
        let answer = Answer {
            action: AnswerAction::Accept,
            content: Some(default.clone()),
            defaulted: true,
        };
        self.emit(What::QuestionAnswered {
            step,
            round,
            answer,
            sent: None,
        });
        let shown = if ask.bare {
            default.get("value").unwrap_or(default)
        } else {
            default
        };
        let output = match ask.output {
            Shape::Report => json!({ "action": "accept", "content": shown, "defaulted": true }),
            Shape::Plain => shown.clone(),
        };
        self.step_completed(step, Output::Value(Arc::new(output)));
    }

    fn refused(&mut self, step: u32, round: u32, ask: &Ask, action: AnswerAction) {
        // The answer below starts the count again.
        let were_invalid = self.state.step(step).answers_refused > ANSWERS_REFUSED_MAX;
        let answer = Answer {
            action,
            content: None,
            defaulted: false,
        };
        self.emit(What::QuestionAnswered {
            step,
            round,
            answer,
            sent: None,
        });
        let (policy, code, words) = match action {
            AnswerAction::Cancel if were_invalid => (
                ask.on_cancel,
                Code::DeclinedInvalidAnswers,
                "got no valid answer: too many answers did not match its schema",
            ),
            AnswerAction::Decline => (ask.on_decline, Code::DeclinedQuestion, "was declined"),
            AnswerAction::Timeout => (
                ask.on_cancel,
                Code::TimeoutQuestion,
                "was not answered in time",
            ),
            AnswerAction::Cancel | AnswerAction::Accept | AnswerAction::Invalid => {
                (ask.on_cancel, Code::CancelledQuestion, "was cancelled")
            }
        };
        let plan = Arc::clone(&self.state.plan);
        let default = plan.step(step as usize).default.as_ref();
        let content = match ask.output {
            Shape::Report => default.and_then(|default| default.get("content")),
            Shape::Plain => default,
        };
        let content = content.cloned();
        match policy {
            Refusal::Fails => {
                let failure = Failure::new(code, format!("the question {words}"));
                self.slot_failed(Slot::of_step(step), failure);
            }
            Refusal::Continues => self.step_completed(step, output_of(ask, action, content)),
            Refusal::SkipsRemaining => {
                self.step_completed(step, output_of(ask, action, content));
                self.emit(What::RemainingSkipped { step });
            }
        }
    }
}

fn output_of(ask: &Ask, action: AnswerAction, content: Option<Value>) -> Output {
    if ask.output == Shape::Plain {
        // Without a schema the answer is whether it was given.
        let given = match (&content, &ask.schema) {
            (Some(content), Some(_)) => content.clone(),
            (None, Some(_)) => Value::Null,
            (_, None) => Value::Bool(action == AnswerAction::Accept),
        };
        return Output::Value(Arc::new(given));
    }
    let mut output = json!({ "action": action.as_str() });
    if let Some(content) = content {
        output["content"] = content;
    }
    Output::Value(Arc::new(output))
}
