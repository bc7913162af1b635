//! The JSON Schema of workflow files, for editors. It knows their shape; what they mean is for `check`.

use serde_json::{Value, json};

/// The schema of one workflow file.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "onecall workflow file",
        "type": "object",
        "required": ["workflow"],
        "additionalProperties": false,
        "properties": {
            "workflow": { "type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$", "description": "The name of the workflow; some clients take no more than 64 characters" },
            "version": { "type": "string" },
            "title": { "type": "string" },
            "description": { "type": "string", "description": "What clients choose the tool by" },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "annotations": { "$ref": "#/$defs/annotations" },
            "expose": { "type": "boolean", "description": "Whether clients are shown it" },
            "inputs": { "$ref": "#/$defs/fields" },
            "parameters": { "type": "object", "description": "A JSON Schema of all inputs, in place of `inputs`" },
            "timeout": { "anyOf": [{ "$ref": "#/$defs/duration" }, { "$ref": "#/$defs/runTimeout" }] },
            "parallel": { "type": "integer", "minimum": 1, "maximum": 10_000, "description": "Steps at once" },
            "all_failed": { "enum": ["completes", "fails"] },
            "any_failed": { "enum": ["completes", "is_error"] },
            "durability": { "enum": ["none", "async", "sync"] },
            "on_disconnect": { "enum": ["cancel", "continue"] },
            "budget": { "$ref": "#/$defs/budget" },
            "steps": { "type": "object", "additionalProperties": { "$ref": "#/$defs/step" } },
            "tool": { "$ref": "#/$defs/tool" },
            "bind": { "type": "object", "description": "Arguments of the derived tool that are fixed" },
            "hide": { "type": "array", "items": { "type": "string" }, "description": "Arguments that are not offered" },
            "outputs": { "type": "object", "additionalProperties": { "$ref": "#/$defs/output" } },
            "unset_outputs": { "enum": ["left_out", "fail"] },
            "returns": { "description": "One value with expressions in it, in place of `outputs`" },
        },
        "$defs": definitions(),
    })
}

fn definitions() -> Value {
    json!({
        "duration": { "type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ns|us|µs|μs|ms|s|m|h))+$" },
        "tool": { "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:/@^-]*$" },
        "fields": {
            "type": "object",
            "additionalProperties": {
                "anyOf": [
                    { "type": "string", "description": "`string`, `integer = 50`, `string[]?`" },
                    { "type": "array", "minItems": 1, "maxItems": 1 },
                    { "type": "object", "description": "A JSON Schema; `optional: true` for one that may be absent" },
                ],
            },
        },
        "annotations": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "title": { "type": "string" },
                "read_only": { "type": "boolean" },
                "destructive": { "type": "boolean" },
                "idempotent": { "type": "boolean" },
                "open_world": { "type": "boolean" },
            },
        },
        "runTimeout": {
            "type": "object",
            "additionalProperties": false,
            "required": ["limit"],
            "properties": {
                "limit": { "$ref": "#/$defs/duration" },
                "while_asking": { "enum": ["ticks", "stands"] },
            },
        },
        "budget": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "calls": { "type": "integer", "minimum": 0 },
                "cost_usd": { "type": "number", "minimum": 0 },
                "tokens": { "type": "integer", "minimum": 0 },
                "time": { "$ref": "#/$defs/duration" },
            },
        },
        "callBudget": call_budget(),
        "need": need(),
        "retry": retry(),
        "retryLong": retry_long(),
        "step": step(),
        "body": body(),
        "output": { "anyOf": [{ "type": ["string", "number", "boolean", "array"] }, { "$ref": "#/$defs/outputLong" }] },
        "outputLong": {
            "type": "object",
            "description": "`value` or `properties`, and whatever JSON Schema says of it",
            "properties": {
                "value": true,
                "properties": { "type": "object", "additionalProperties": { "$ref": "#/$defs/output" } },
                "type": { "enum": ["string", "integer", "number", "boolean", "object", "array", "any"] },
                "description": { "type": "string" },
                "default": true,
                "required": { "type": "boolean" },
            },
        },
    })
}

fn call_budget() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "cost_usd": { "type": "number", "minimum": 0 },
            "tokens": { "type": "integer", "minimum": 0 },
        },
    })
}

fn need() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["step", "default"],
        "properties": { "step": { "type": "string" }, "default": true },
    })
}

fn retry() -> Value {
    json!({
        "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": 100 },
            { "$ref": "#/$defs/retryLong" },
        ],
    })
}

fn retry_long() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["times"],
        "properties": {
            "times": { "type": "integer", "minimum": 1, "maximum": 100 },
            "delay": { "$ref": "#/$defs/duration" },
            "on": { "type": "array", "items": { "type": "string" } },
        },
    })
}

fn step() -> Value {
    let mut step = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "needs": { "type": "array", "items": { "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/need" }] }, "description": "Steps to wait for; `name?` or `{step, default}` for one it does without" },
            "ask": { "description": "The question to a person" },
            "answer": { "$ref": "#/$defs/fields" },
            "answer_schema": { "type": "object" },
            "default_answer": true,
            "on_decline": { "enum": ["fail", "continue", "skip_remaining"] },
            "on_cancel": { "enum": ["fail", "continue", "skip_remaining"] },
            "each": { "type": ["string", "array", "object"], "description": "The items of a loop" },
            "as": { "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
            "parallel": { "type": "integer", "minimum": 1, "maximum": 10_000 },
            "max_items": { "type": "integer", "minimum": 1, "maximum": 100_000 },
            "failed_item": { "enum": ["by_on_error", "ends_loop"] },
            "report": { "type": "boolean", "description": "The output tells how it went, not only what came of it" },
            "failed_item": { "enum": ["by_on_error", "ends_loop"], "description": "What the first item that fails does" },
            "do": { "$ref": "#/$defs/body" },
            "mock": { "description": "Stands in for the result; nothing is called" },
        },
    });
    add(&mut step, shared());
    step
}

fn body() -> Value {
    let mut body = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["tool"],
        "properties": { "name": { "type": "string" } },
    });
    add(&mut body, shared());
    body
}

/// What a step and the body of a loop can both say.
fn shared() -> Value {
    json!({
        "title": { "type": "string" },
        "description": { "type": "string" },
        "if": { "type": ["string", "boolean", "object"] },
        "truth": { "enum": ["jq", "words"] },
        "timeout": { "$ref": "#/$defs/duration" },
        "after_skip": { "enum": ["skip", "run", "skip_after_failure"] },
        "default": true,
        "tool": { "$ref": "#/$defs/tool" },
        "with": { "type": ["object", "string"] },
        "read": { "enum": ["payload", "content_map"] },
        "missing": { "enum": ["leave_out", "fail"] },
        "idempotent": { "type": "boolean" },
        "transform": { "type": "string" },
        "call_budget": { "$ref": "#/$defs/callBudget" },
        "retry": { "$ref": "#/$defs/retry" },
        "on_error": { "enum": ["abort", "continue"] },
    })
}

fn add(schema: &mut Value, shared: Value) {
    if let (Some(Value::Object(own)), Value::Object(shared)) =
        (schema.get_mut("properties"), shared)
    {
        own.extend(shared);
    }
}
