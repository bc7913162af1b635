//! Ids of requests to backends. They are random: a peer that has seen one cannot guess that of another request, and so
//! cannot answer or cancel it.

/// A fresh id. It has 46 bits, so that readers of JSON that keep 14 digits give it back as it was; that two requests in
/// flight have the same one is next to impossible.
pub(crate) fn random() -> i64 {
    (rand::random::<u64>() >> 18).cast_signed()
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_are_far_apart_and_exact_as_numbers() {
        let ids: Vec<i64> = (0..64).map(|_| super::random()).collect();
        assert!(ids.iter().all(|id| (0..1 << 46).contains(id)));
        let near = ids
            .windows(2)
            .filter(|pair| pair[0].abs_diff(pair[1]) < 1 << 16);
        assert_eq!(near.count(), 0, "{ids:?}");
    }
}
