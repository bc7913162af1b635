//! What can be seen of a slot from outside.

use std::sync::atomic::Ordering;

use onecall_mcp::Era;
use tokio::time::Instant;

use super::{Slot, State, lock};
use crate::options::TransportOptions;
use crate::status::{BackendState, BackendStatus, Breaker};

impl Slot {
    pub(crate) fn status(&self) -> BackendStatus {
        let state = self.state.borrow().clone();
        let client = if let State::Ready(client) = &state {
            Some(client)
        } else {
            None
        };
        let circuit = self.target.circuit.as_ref();
        let circuit = circuit.and_then(|own| own.shown(Instant::now()));
        let (breaker, reason) = circuit.unzip();
        let health = lock(&self.health);
        let suspended = health.suspended().or(reason.as_deref());
        let breaker = match &state {
            State::Ready(_) if health.suspended().is_some() => health.breaker(),
            State::Ready(_) => breaker.unwrap_or(Breaker::Closed),
            State::Down { .. } => Breaker::Open,
            State::Connecting { .. } if self.has_failed() => Breaker::HalfOpen,
            State::Idle | State::Connecting { .. } | State::Stopped => Breaker::Closed,
        };
        BackendStatus {
            name: self.target.options.name.clone(),
            transport: match (client, &self.target.options.transport) {
                (Some(client), _) => client.transport(),
                (None, TransportOptions::Stdio(_)) => "stdio",
                (None, TransportOptions::Http(_)) => "http",
                (None, TransportOptions::Sse(_)) => "sse",
            },
            breaker,
            era: client.map(|client| match client.era() {
                Era::Legacy => "legacy",
                Era::Modern => "modern",
            }),
            revision: client.map(|client| client.agreement.named),
            server_info: client.map(|client| client.agreement.server_info.clone()),
            instructions: client.and_then(|client| client.agreement.instructions.clone()),
            tools: self.known_tools().map(|tools| tools.len()),
            remarks: self.remarks(),
            in_flight: self.in_flight(),
            connects: self.connects.load(Ordering::Relaxed),
            latency: health.latency(),
            last_error: health.last_error().map(str::to_owned),
            stderr: self.target.words.tail(),
            state: shown(&state, suspended),
        }
    }

    /// What is odd about the list, and about the server.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = lock(&self.remarks).clone();
        if self.asks_nobody.load(Ordering::SeqCst) {
            remarks.push(self.refusal().to_owned());
        }
        remarks
    }
}

fn shown(state: &State, suspended: Option<&str>) -> BackendState {
    match (state, suspended) {
        (State::Idle, _) => BackendState::Idle,
        (State::Connecting { .. }, _) => BackendState::Connecting,
        (State::Ready(_), None) => BackendState::Ready,
        (State::Ready(_), Some(reason)) => BackendState::Silent {
            reason: reason.to_owned(),
        },
        (
            State::Down {
                reason,
                denied,
                until,
                ..
            },
            _,
        ) => BackendState::Down {
            reason: reason.clone(),
            is_denied: denied.is_some(),
            retry_in: until.saturating_duration_since(Instant::now()),
        },
        (State::Stopped, _) => BackendState::Stopped,
    }
}
