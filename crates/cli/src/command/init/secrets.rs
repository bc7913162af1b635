//! Keys and tokens in the entry of a client: which values are such, and the variable that is named for each.

mod urls;

use onecall_config::literal::{is_known_key, is_secret_name, variable_name};
use serde_json::Value;
use urls::Spot;

/// A variable that stands in a file in place of a secret, and whose place it takes.
pub(super) type Variable = (String, String);

/// Puts a variable in the place of each secret of the entry.
pub(super) fn name(backend: &str, entry: &mut Value) -> Vec<Variable> {
    let mut variables = Vec::new();
    for key in ["env", "headers"] {
        let Some(values) = entry.get_mut(key).and_then(Value::as_object_mut) else {
            continue;
        };
        for (field, value) in values {
            let Some(text) = value.as_str().filter(|text| !text.contains("${")) else {
                continue;
            };
            if !is_secret_name(field) && !is_secret_text(text) {
                continue;
            }
            let variable = if key == "env" {
                field.clone()
            } else {
                joined(backend, field)
            };
            *value = Value::from(format!("${{{variable}}}"));
            variables.push((variable, format!("`{field}` of `{backend}`")));
        }
    }
    if let Some(args) = entry.get_mut("args").and_then(Value::as_array_mut) {
        in_arguments(backend, args, &mut variables);
    }
    if let Some(Value::String(url)) = entry.get_mut("url") {
        *url = in_url(backend, url, &mut variables);
    }
    variables
}

/// Names a variable for each secret that stands inside a URL.
fn in_url(backend: &str, url: &str, variables: &mut Vec<Variable>) -> String {
    urls::cover(url, |spot| {
        let (name, place) = match spot {
            Spot::User => ("user", "the user".to_owned()),
            Spot::Password => ("password", "the password".to_owned()),
            Spot::Path => ("url_key", "a part of the path".to_owned()),
            Spot::Parameter(name) => (name, format!("`{name}`")),
        };
        let variable = unused(joined(backend, name), variables);
        let named = format!("${{{variable}}}");
        variables.push((variable, format!("{place} in the URL of `{backend}`")));
        named
    })
}

/// The name, with a number where another secret has it.
fn unused(name: String, variables: &[Variable]) -> String {
    let is_taken = |name: &str| variables.iter().any(|(own, _)| own == name);
    if !is_taken(&name) {
        return name;
    }
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut free = numbered.filter(|name| !is_taken(name));
    free.next().unwrap_or(name)
}

/// `--token abc`, `--api-key=abc`, and what begins as keys do.
fn in_arguments(backend: &str, args: &mut [Value], variables: &mut Vec<Variable>) {
    // The flag before, where it announces a secret.
    let mut announced: Option<String> = None;
    for (index, arg) in args.iter_mut().enumerate() {
        let Some(text) = arg.as_str().map(str::to_owned) else {
            continue;
        };
        let flag = announced.take();
        if flag.is_none() && urls::is_url(&text) {
            *arg = Value::from(in_url(backend, &text, variables));
            continue;
        }
        let (head, secret, named) = if let Some((flag, value)) = flag_with_value(&text) {
            (format!("{flag}="), value.to_owned(), Some(flag.to_owned()))
        } else if text.starts_with('-') {
            announced = is_secret_name(&text).then_some(text);
            continue;
        } else if flag.is_some() || is_secret_text(&text) {
            (String::new(), text, flag)
        } else {
            continue;
        };
        if secret.is_empty() || secret.contains("${") {
            continue;
        }
        let place = named.unwrap_or_else(|| format!("argument {}", index + 1));
        let variable = joined(backend, place.trim_start_matches('-'));
        *arg = Value::from(format!("{head}${{{variable}}}"));
        variables.push((variable, format!("`{place}` of `{backend}`")));
    }
}

/// `--flag=value` whose value is a secret.
fn flag_with_value(text: &str) -> Option<(&str, &str)> {
    let (flag, value) = text.split_once('=')?;
    let fits = is_secret_name(flag) || is_secret_text(value);
    fits.then_some((flag, value))
}

fn is_secret_text(text: &str) -> bool {
    is_known_key(text) || urls::holds_secret(text)
}

fn joined(backend: &str, name: &str) -> String {
    variable(&format!("{backend}_{name}"))
}

/// The variable that is named after this.
pub(super) fn variable(name: &str) -> String {
    let upper = variable_name(name);
    // A variable does not begin with a digit.
    if upper.starts_with(|char: char| char.is_ascii_digit()) {
        return format!("_{upper}");
    }
    upper
}
