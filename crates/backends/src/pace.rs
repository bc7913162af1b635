//! How much a reader does before others on its thread have their turn. What is always ready is never waited for, so a
//! server that sends without end would have the thread to itself, and not even a time-out would come.

use crate::limits::{TURN_BYTES_MAX, TURN_PIECE_BYTES};

/// What one reader has done since others had their turn.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    bytes: usize,
}

impl Pace {
    /// So much is about to be done: one line, event or message, or a piece of a longer one. Cancelling this loses
    /// nothing.
    pub(crate) async fn piece(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes + TURN_PIECE_BYTES);
        if self.bytes > TURN_BYTES_MAX {
            self.bytes = 0;
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn others_have_their_turn_after_many_pieces_and_after_a_long_one() {
        let mut pace = Pace::default();
        let few = TURN_BYTES_MAX / TURN_PIECE_BYTES;
        for _ in 0..few {
            assert!(pace.piece(0).now_or_never().is_some());
        }
        assert!(pace.piece(0).now_or_never().is_none());
        assert!(pace.piece(0).now_or_never().is_some());
        assert!(pace.piece(TURN_BYTES_MAX).now_or_never().is_none());
    }
}
