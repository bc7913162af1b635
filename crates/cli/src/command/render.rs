//! `onecall render`: try a Go template, or render many, one JSON object a line.

use crate::args::{RenderArgs, RenderMode};
use crate::exit::Exit;
use crate::input::read_text;
use crate::limits::RENDER_BYTES_MAX;
use crate::print;
use anyhow::Context;
use gotemplate::{Mode, ParseOptions, RenderOptions};
use serde_json::Value;
use std::io::{BufRead, Read};

pub(crate) fn run(args: &RenderArgs) -> anyhow::Result<Exit> {
    let mode = match args.mode {
        RenderMode::Go => Mode::Go,
        RenderMode::Workflow => Mode::Workflow,
    };
    if args.lines {
        return lines(mode);
    }
    let source = args.template.as_deref().unwrap_or_default();
    let data = data(args)?;
    let template = match gotemplate::parse(source, &ParseOptions::default()) {
        Ok(template) => template,
        Err(error) => {
            print::err(format!("error: {error}"));
            return Ok(Exit::Failed);
        }
    };
    let options = RenderOptions {
        mode,
        ..RenderOptions::default()
    };
    match template.render(&data, &options) {
        Ok(rendered) => {
            for span in &rendered.missing {
                let read = source.get(span.range()).unwrap_or_default();
                print::err(format!("warning: `{}` has no value", read.trim()));
            }
            print::data(rendered.into_string());
            Ok(Exit::Ok)
        }
        Err(error) => {
            print::err(format!("error: {error}"));
            Ok(Exit::Failed)
        }
    }
}

fn data(args: &RenderArgs) -> anyhow::Result<Value> {
    let Some(path) = &args.data else {
        return Ok(Value::Null);
    };
    let text = read_text(path, RENDER_BYTES_MAX)?;
    serde_json::from_str(&text).with_context(|| format!("`{}` is not JSON", path.display()))
}

/// Survives any line: what cannot be read is answered with an error.
fn lines(mode: Mode) -> anyhow::Result<Exit> {
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut input)
            .take(RENDER_BYTES_MAX)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(Exit::Ok);
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            print::data(gotemplate::lines::answer(text.trim_end(), mode));
        }
    }
}
