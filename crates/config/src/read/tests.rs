//! Files of all kinds become settings.
