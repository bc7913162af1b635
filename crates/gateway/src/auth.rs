//! Who calls. A principal owns the runs, questions, tasks and sessions it starts; to others they do not exist.

use http::Extensions;
use std::sync::Arc;

/// A caller as it is known here; nobody in particular where callers are not asked who they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Principal(Option<Arc<str>>);

impl Principal {
    /// The one that was found out for a request.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        extensions.get::<Self>().cloned().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.0.as_deref()
    }
}
