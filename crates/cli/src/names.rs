//! What to do about a published name that some hosts refuse.

/// What stands before workflows over HTTP, and what stands there over stdio.
const PREFIX: &str = "workflow:";
const PLAIN: &str = "workflow_";

/// The way to another name, where the colon of the usual prefix is all that is wrong.
pub(crate) fn advice(name: &str) -> Option<String> {
    let bare = name.strip_prefix(PREFIX)?;
    Some(format!(
        "`serve --stdio`, which `onecall connect` enters, names it `{PLAIN}{bare}`; \
         `names: {{prefix: {PLAIN}}}` in `onecall.yaml` does so over HTTP too"
    ))
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn only_the_usual_prefix_has_another_spelling() {
        assert!(advice("workflow:a").unwrap().contains("`workflow_a`"));
        assert_eq!(advice("a b"), None);
    }
}
