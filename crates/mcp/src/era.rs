//! Revisions of the protocol and how to tell which era a server speaks from its answer to a probe.
//! Sending the probe is the transports' work.

use serde_json::Value;

use crate::error::{RpcError, code};

/// A revision that we speak, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

/// Handshake revisions are legacy; stateless ones are modern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    Legacy,
    Modern,
}

impl Revision {
    pub const ALL: [Self; 4] = [
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];
    /// The newest of the modern era.
    pub const MODERN: Self = Self::V2026_07_28;
    /// The newest with a handshake.
    pub const LEGACY: Self = Self::V2025_11_25;

    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == name)
    }

    pub fn era(self) -> Era {
        match self {
            Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => Era::Legacy,
            Self::V2026_07_28 => Era::Modern,
        }
    }

    /// What a server answers to `initialize`: the revision asked for if it has a handshake, else
    /// the newest that has one.
    pub fn negotiate(asked: Option<&str>) -> Self {
        asked
            .and_then(Self::from_name)
            .filter(|revision| revision.era() == Era::Legacy)
            .unwrap_or(Self::LEGACY)
    }
}

impl std::fmt::Display for Revision {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What the answer to `server/discover` says of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Modern, in this revision.
    Modern(Revision),
    /// Open with `initialize`.
    Legacy,
    /// Modern, but no revision is common.
    NoCommon,
}

/// Judges the answer to `server/discover`: a result or one of the modern errors means modern,
/// anything else means legacy. Never keyed on one code.
pub fn judge_probe(answer: Result<&Value, &RpcError>) -> Probe {
    match answer {
        // Some legacy servers answer any method with an empty result.
        Ok(result) => result
            .get("supportedVersions")
            .map_or(Probe::Legacy, choose),
        Err(error) if error.code == code::UNSUPPORTED_VERSION => {
            let supported = error
                .data
                .as_ref()
                .and_then(|data| data.value().get("supported"));
            supported.map_or(Probe::Modern(Revision::MODERN), choose)
        }
        Err(error) if error.is_modern() => Probe::Modern(Revision::MODERN),
        Err(_) => Probe::Legacy,
    }
}

fn choose(supported: &Value) -> Probe {
    let names = supported.as_array().map_or(&[][..], Vec::as_slice);
    let known = names
        .iter()
        .filter_map(|name| Revision::from_name(name.as_str()?));
    match known.max() {
        Some(revision) if revision.era() == Era::Modern => Probe::Modern(revision),
        Some(_) => Probe::Legacy,
        None => Probe::NoCommon,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_or_a_modern_error_means_modern() {
        let result = json!({ "supportedVersions": ["2025-11-25", "2026-07-28", "2031-01-01"] });
        assert_eq!(
            judge_probe(Ok(&result)),
            Probe::Modern(Revision::V2026_07_28)
        );
        assert_eq!(judge_probe(Ok(&json!({}))), Probe::Legacy);
        for code in [-32020, -32021, -32022] {
            let error = RpcError::new(code, "no");
            assert_eq!(judge_probe(Err(&error)), Probe::Modern(Revision::MODERN));
        }
    }

    #[test]
    fn any_other_error_means_legacy() {
        for code in [-32601, -32600, -32602, -32000, -32603, 0] {
            assert_eq!(judge_probe(Err(&RpcError::new(code, "no"))), Probe::Legacy);
        }
    }

    #[test]
    fn an_unsupported_version_is_judged_by_what_is_supported() {
        let only = |names: Value| {
            let error = RpcError::new(-32022, "no").with_data(json!({ "supported": names }));
            judge_probe(Err(&error))
        };
        assert_eq!(only(json!(["2025-06-18"])), Probe::Legacy);
        assert_eq!(only(json!(["2031-01-01"])), Probe::NoCommon);
        assert_eq!(only(json!(["2026-07-28"])), Probe::Modern(Revision::MODERN));
    }

    #[test]
    fn initialize_never_negotiates_a_modern_revision() {
        assert_eq!(Revision::negotiate(Some("2026-07-28")), Revision::LEGACY);
        assert_eq!(
            Revision::negotiate(Some("2025-03-26")),
            Revision::V2025_03_26
        );
        assert_eq!(Revision::negotiate(Some("2024-11-05")), Revision::LEGACY);
        assert_eq!(Revision::negotiate(None), Revision::LEGACY);
    }
}
